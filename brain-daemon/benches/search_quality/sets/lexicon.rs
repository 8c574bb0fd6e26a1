//! Parts of sentences in several scripts, for generated notes.

/// Parts of sentences of one language. `|` separates the alternatives of a field.
pub(crate) struct Lexicon {
    /// The code of the language, which ends the name of the set.
    pub(crate) code: &'static str,
    /// Orders of the parts of a sentence: `s`ubject, `v`erb, `o`bject, `p`lace, `t`ime.
    pub(crate) orders: &'static str,
    /// Conjunctions between two sentences.
    pub(crate) conjunctions: &'static str,
    pub(crate) subjects: &'static str,
    pub(crate) verbs: &'static str,
    pub(crate) objects: &'static str,
    pub(crate) places: &'static str,
    pub(crate) times: &'static str,
    /// The separator of words; empty in scripts without spaces.
    pub(crate) space: &'static str,
    /// The end of a sentence.
    pub(crate) end: &'static str,
}

pub(crate) const LEXICONS: [Lexicon; 14] = [
    Lexicon {
        code: "en",
        orders: "svop|tsvo|svotp|psvo",
        conjunctions: "and then|but after that|because|so that|while",
        subjects: "the harbour master|our new accountant|a friend of mine|the team in the north|\
            the woman with the red bicycle|nobody from the office|my sister|the old captain|\
            one of the neighbours|the committee|a visitor|the gardener|the night watchman",
        verbs: "has not yet found|wanted to see|is going to repair|had been looking for|\
            could not pay for|will bring|was told about|never asked for|forgot|paints|\
            has already sold|should have kept|is proud of",
        objects: "the list of the boats|a letter from the bank|the keys of the house|\
            what was left of the budget|the second half of the plan|a map of the island|\
            all of the old books|the price of the ticket|three boxes of apples|the broken clock|\
            the minutes of the meeting|a new roof|the way to the station|most of the money",
        places: "at the end of the street|in the garden|on the other side of the river|\
            behind the church|in front of the school|at home|under the bridge|by the sea|\
            in the back of the car|near the market",
        times: "on Monday|in the middle of the night|before the summer|a week ago|\
            at the beginning of the year|once again|in the evening|after the storm",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "de",
        orders: "svop|tvso|svotp|pvso",
        conjunctions: "und danach|aber|denn|sodass",
        subjects: "der neue Nachbar|meine Schwester|die Leiterin der Schule|ein alter Freund|\
            das Team aus dem Norden|niemand aus dem Büro|der Gärtner|die Gäste|unsere Ärztin|\
            der Hafenmeister|eine Besucherin|der Vorstand",
        verbs: "sucht immer noch|bekommt morgen|verkaufte|hat ja schon|vergisst oft|braucht|\
            möchte auch|malte|bezahlt nie|findet hoffentlich|reparierte|versteckt",
        objects: "die Liste der Boote|einen Brief von der Bank|die Schlüssel des Hauses|\
            den Rest des Geldes|eine Karte der Insel|die alten Bücher|drei Kisten mit Äpfeln|\
            das Protokoll der Sitzung|ein neues Dach|den Weg zum Bahnhof|die größten Möbel|\
            den Schlüssel für die Straßenbahn|eine Überraschung für die Kinder",
        places: "am Ende der Straße|im Garten|auf der anderen Seite des Flusses|hinter der Kirche|\
            vor der Schule|zu Hause|unter der Brücke|am Meer|in der Nähe vom Markt",
        times: "am Montag|mitten in der Nacht|vor dem Sommer|vor einer Woche|zu Beginn des Jahres|\
            noch einmal|am Abend|nach dem Sturm",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "tr",
        orders: "spov|tsov|ptsov|sotv",
        conjunctions: "ve sonra|ama|çünkü|o zaman",
        subjects: "yeni komşumuz|kız kardeşim|okulun müdürü|eski bir arkadaş|kuzeydeki ekip|\
            ofisten hiç kimse|yaşlı kaptan|bahçıvan|doktorumuz|liman şefi|bir ziyaretçi|kurul",
        verbs: "hâlâ arıyor|bulamadı|getirecek|satmıştı|görmek istedi|tamir ediyor|unuttu|\
            ödeyemedi|çizdi|sakladı|hiç sormadı|anlatıyordu",
        objects: "teknelerin listesini|bankadan gelen mektubu|evin anahtarlarını|paranın kalanını|\
            adanın haritasını|bütün eski kitapları|üç kasa elmayı|toplantının tutanağını|\
            yeni çatıyı|istasyonun yolunu|kırık saati|biletin fiyatını|planın ikinci yarısını",
        places: "sokağın sonunda|bahçede|nehrin öbür tarafında|caminin arkasında|okulun önünde|\
            evde|köprünün altında|deniz kıyısında|pazarın yakınında",
        times: "pazartesi günü|gecenin ortasında|yazdan önce|bir hafta önce|yılın başında|\
            bir kez daha|akşam|fırtınadan sonra",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "vi",
        orders: "svop|tsvo|svotp|psvo",
        conjunctions: "và sau đó|nhưng|bởi vì|cho nên",
        subjects: "người hàng xóm mới|chị gái của tôi|cô hiệu trưởng|một người bạn cũ|\
            nhóm ở phía bắc|không ai trong văn phòng|ông thuyền trưởng già|người làm vườn|\
            bác sĩ của chúng tôi|ma cũ trong làng|má của Lan|ban tổ chức",
        verbs: "vẫn còn tìm|chưa thấy|sẽ mang đến|đã bán|muốn xem|đang sửa|quên mất|\
            không trả nổi|vẽ lại|giấu|chưa bao giờ hỏi|kể về",
        objects: "danh sách của những con thuyền|lá thư từ ngân hàng|chìa khóa của ngôi nhà|\
            số tiền còn lại|bản đồ của hòn đảo|tất cả sách cũ|ba thùng táo|biên bản cuộc họp|\
            mái nhà mới|đường đến nhà ga|cái đồng hồ hỏng|giá của tấm vé|nửa sau của kế hoạch",
        places: "ở cuối đường|trong vườn|ở bên kia sông|sau nhà thờ|trước trường học|ở nhà|\
            dưới cầu|bên bờ biển|gần chợ",
        times: "vào thứ hai|giữa đêm|trước mùa hè|một tuần trước|đầu năm|một lần nữa|buổi tối|\
            sau cơn bão",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "ru",
        orders: "svop|tsvo|pvso|svotp",
        conjunctions: "а потом|но|потому что|так что",
        subjects: "новый сосед|моя сестра|директор школы|один старый друг|команда с севера|\
            никто из конторы|старый капитан|садовник|наш врач|начальник порта|гостья|комитет",
        verbs: "всё ещё ищет|не нашёл|принесёт|уже продал|хотел увидеть|чинит|забыл|\
            не мог оплатить|рисует|спрятал|никогда не спрашивал про|рассказывал про",
        objects: "список всех лодок|письмо из банка|ключи от дома|остаток денег|карту острова|\
            все старые книги|три ящика яблок|протокол собрания|новую крышу|дорогу на вокзал|\
            сломанные часы|цену билета|вторую половину плана",
        places: "в конце улицы|в саду|на другом берегу реки|за церковью|перед школой|дома|\
            под мостом|у моря|рядом с рынком",
        times: "в понедельник|посреди ночи|до лета|неделю назад|в начале года|ещё раз|вечером|\
            после бури",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "el",
        orders: "svop|tsvo|pvso|svotp",
        conjunctions: "και μετά|αλλά|γιατί|ώστε",
        subjects: "ο νέος γείτονας|η αδελφή μου|ο διευθυντής του σχολείου|ένας παλιός φίλος|\
            η ομάδα από τον βορρά|κανείς από το γραφείο|ο γέρος καπετάνιος|ο κηπουρός|\
            ο γιατρός μας|ο λιμενάρχης|μια επισκέπτρια|η επιτροπή",
        verbs: "ψάχνει ακόμα|δεν βρήκε|θα φέρει|έχει ήδη πουλήσει|ήθελε να δει|επισκευάζει|\
            ξέχασε|δεν μπορούσε να πληρώσει|ζωγραφίζει|έκρυψε|ποτέ δεν ζήτησε|φύλαξε",
        objects: "τη λίστα με τις βάρκες|ένα γράμμα από την τράπεζα|τα κλειδιά του σπιτιού|\
            τα υπόλοιπα χρήματα|έναν χάρτη του νησιού|όλα τα παλιά βιβλία|τρία κιβώτια με μήλα|\
            τα πρακτικά της συνάντησης|μια νέα στέγη|τον δρόμο για τον σταθμό|\
            το χαλασμένο ρολόι|την τιμή του εισιτηρίου",
        places: "στο τέλος του δρόμου|στον κήπο|στην άλλη πλευρά του ποταμού|\
            πίσω από την εκκλησία|μπροστά στο σχολείο|στο σπίτι|κάτω από τη γέφυρα|\
            δίπλα στη θάλασσα|κοντά στην αγορά",
        times: "τη Δευτέρα|μέσα στη νύχτα|πριν από το καλοκαίρι|πριν από μια εβδομάδα|\
            στην αρχή του χρόνου|άλλη μια φορά|το βράδυ|μετά την καταιγίδα",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "ar",
        orders: "vsop|tvso|svop|pvso",
        conjunctions: "ثم|ولكن|لأنه|حتى",
        subjects: "الجار الجديد|أخي الكبير|مدير المدرسة|صديق قديم|الفريق من الشمال|\
            موظف من المكتب|القبطان العجوز|البستاني|طبيب العائلة|رئيس الميناء|زائر غريب|المحاسب",
        verbs: "وجد|باع|يبحث عن|نسي|أحضر|أراد أن يرى|أصلح|لم يدفع ثمن|رسم|أخفى|سأل عن|حفظ",
        objects: "قائمة القوارب|رسالة من البنك|مفاتيح البيت|بقية المال|خريطة الجزيرة|\
            كل الكتب القديمة|ثلاثة صناديق من التفاح|محضر الاجتماع|السقف الجديد|الطريق إلى المحطة|\
            الساعة المكسورة|سعر التذكرة|النصف الثاني من الخطة",
        places: "في نهاية الشارع|في الحديقة|على الجانب الآخر من النهر|خلف المسجد|أمام المدرسة|\
            في البيت|تحت الجسر|على شاطئ البحر|قرب السوق",
        times: "يوم الاثنين|في منتصف الليل|قبل الصيف|قبل أسبوع|في بداية السنة|مرة أخرى|في المساء|\
            بعد العاصفة",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "he",
        orders: "svop|tsvo|psvo|svotp",
        conjunctions: "ואחר כך|אבל|כי|כדי",
        subjects: "השכן החדש|אחותי הגדולה|מנהל בית הספר|חבר ותיק|הצוות מהצפון|אף אחד מהמשרד|\
            רב החובל הזקן|הגנן|הרופא שלנו|מנהל הנמל|אורחת אחת|הוועד",
        verbs: "עדיין מחפש את|לא מצא את|יביא את|כבר מכר את|רצה לראות את|מתקן את|שכח את|\
            לא שילם על|צייר את|החביא את|אף פעם לא ביקש את|סיפר על",
        objects: "רשימת הסירות|המכתב מהבנק|מפתחות הבית|שארית הכסף|מפת האי|כל הספרים הישנים|\
            שלושה ארגזים של תפוחים|סיכום הפגישה|הגג החדש|הדרך לתחנה|השעון השבור|מחיר הכרטיס|\
            החצי השני של התוכנית",
        places: "בסוף הרחוב|בגינה|בצד השני של הנהר|מאחורי הכנסייה|מול בית הספר|בבית|\
            מתחת לגשר|ליד הים|קרוב לשוק",
        times: "ביום שני|באמצע הלילה|לפני הקיץ|לפני שבוע|בתחילת השנה|עוד פעם|בערב|\
            אחרי הסערה",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "th",
        orders: "svop|tsvo|psvo|svotp",
        conjunctions: "แล้วก็|แต่|เพราะว่า|ดังนั้น",
        subjects: "เพื่อนบ้านคนใหม่|พี่สาวของฉัน|ครูใหญ่|เพื่อนเก่าคนหนึ่ง|ทีมจากภาคเหนือ|\
            ไม่มีใครในสำนักงาน|กัปตันชรา|คนสวน|หมอของเรา|นายท่าเรือ|แขกคนหนึ่ง|คณะกรรมการ",
        verbs: "ยังหา|ไม่เจอ|จะนำ|ขาย|อยากดู|กำลังซ่อม|ลืม|\
            จ่ายเงินค่า|วาด|ซ่อน|ไม่เคยถามถึง|เล่าเรื่อง",
        objects: "รายชื่อเรือ|จดหมายจากธนาคาร|กุญแจบ้าน|\
            เงินที่เหลือ|แผนที่ของเกาะ|หนังสือเก่าทั้งหมด|\
            แอปเปิ้ลสามกล่อง|บันทึกการประชุม|หลังคาใหม่|\
            ทางไปสถานี|นาฬิกาที่เสีย|ราคาตั๋ว|ครึ่งหลังของแผนงาน",
        places: "ที่ปลายถนน|ในสวน|อีกฝั่งของแม่น้ำ|\
            หลังวัด|หน้าโรงเรียน|ที่บ้าน|ใต้สะพาน|ริมทะเล|ใกล้ตลาด",
        times: "เมื่อวันจันทร์|กลางดึก|ก่อนฤดูร้อน|สัปดาห์ก่อน|ต้นปี|อีกครั้ง|ตอนเย็น|หลังพายุ",
        space: "",
        end: " ",
    },
    Lexicon {
        code: "zh",
        orders: "spvo|tspvo|stvo|ptsvo",
        conjunctions: "然后|但是|因为|所以",
        subjects: "新来的邻居|我的姐姐|学校的校长|一位老朋友|北方的团队|办公室里没有人|老船长|园丁|\
            我们的医生|港口的主任|一位客人|委员会",
        verbs: "还在找|没有找到|会带来|已经卖掉了|想要看看|正在修理|忘记了|付不起|画了|藏起了|\
            从来没有问过|谈到了",
        objects: "那些船的名单|银行寄来的信|房子的钥匙|剩下的钱|小岛的地图|所有的旧书|三箱苹果|\
            会议的记录|新的屋顶|去车站的路|坏掉的钟|车票的价格|计划的后半部分",
        places: "在街道的尽头|在花园里|在河的对岸|在教堂后面|在学校门口|在家里|在桥下|在海边|\
            在市场附近",
        times: "星期一|半夜里|夏天以前|一个星期前|年初的时候|又一次|晚上|暴风雨以后",
        space: "",
        end: "。",
    },
    Lexicon {
        code: "ja",
        orders: "spov|tsov|tspov|psov",
        conjunctions: "そして|しかし|だから|それから",
        subjects: "新しい隣人は|私の姉は|学校の校長は|古い友人が|北のチームは|事務所の誰もが|\
            年老いた船長は|庭師は|私たちの医者は|港の責任者は|ある客が|委員会は",
        verbs: "まだ探している|見つけられなかった|持って来る|もう売ってしまった|見たがっていた|\
            修理している|忘れてしまった|払えなかった|描いている|隠した|一度も頼まなかった|話していた",
        objects: "船の名簿を|銀行からの手紙を|家の鍵を|残りのお金を|島の地図を|古い本を全部|\
            りんごを三箱|会議の議事録を|新しい屋根を|駅への道を|壊れた時計を|切符の値段を|\
            計画の後半を",
        places: "通りの終わりで|庭の中で|川の向こう側で|教会の後ろで|学校の前で|家で|橋の下で|\
            海のそばで|市場の近くで",
        times: "月曜日に|真夜中に|夏の前に|一週間前に|年の初めに|もう一度|夕方に|嵐の後で",
        space: "",
        end: "。",
    },
    Lexicon {
        code: "ko",
        orders: "spov|tsov|tspov|psov",
        conjunctions: "그리고|하지만|왜냐하면|그래서",
        subjects: "새로 온 이웃은|우리 언니는|학교의 교장은|오랜 친구 하나가|북쪽의 팀은|\
            사무실의 누구도|늙은 선장은|그 정원사는|우리 의사는|항구의 책임자는|한 손님이|위원회는",
        verbs: "아직 찾고 있다|찾지 못했다|가져올 것이다|이미 팔았다|보고 싶어 했다|고치고 있다|\
            잊어버렸다|낼 수 없었다|그리고 있다|숨겼다|한 번도 묻지 않았다|이야기했다",
        objects: "배의 명단을|은행에서 온 편지를|집의 열쇠를|남은 돈을|섬의 지도를|낡은 책을 모두|\
            사과 세 상자를|회의의 기록을|새 지붕을|역으로 가는 길을|고장 난 시계를|표의 값을|\
            계획의 뒷부분을",
        places: "길의 끝에서|정원 안에서|강 건너편에서|교회 뒤에서|학교 앞에서|집에서|다리 밑에서|\
            바닷가에서|시장 근처에서",
        times: "월요일에|한밤중에|여름 전에|일주일 전에|새해 초에|다시 한번|저녁에|폭풍 뒤에",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "fr",
        orders: "svop|tsvo|svotp|psvo",
        conjunctions: "et puis|mais ensuite|parce que|de sorte que|pendant que",
        subjects: "le nouveau voisin|ma sœur|la directrice de l'école|un vieil ami|\
            l'équipe du nord|personne du bureau|le jardinier|la capitaine du port|notre médecin|\
            le comité|une visiteuse|l'invitée|le gardien de nuit",
        verbs: "cherche toujours|n'a pas encore trouvé|a déjà vendu|voulait voir|va réparer|\
            apportera|oublie souvent|ne peut pas payer|a peint|garde|n'a jamais demandé|a caché",
        objects: "la liste des bateaux|une lettre de la banque|les clés de la maison|\
            le reste de l'argent|une carte de l'île|tous les vieux livres|trois caisses de pommes|\
            le compte rendu de la réunion|un nouveau toit|le chemin de la gare|l'horloge cassée|\
            le prix du billet|la deuxième moitié du plan",
        places: "au bout de la rue|dans le jardin|de l'autre côté du fleuve|derrière l'église|\
            devant l'école|à la maison|sous le pont|au bord de la mer|près du marché",
        times: "lundi|au milieu de la nuit|avant l'été|il y a une semaine|au début de l'année|\
            encore une fois|le soir|après la tempête",
        space: " ",
        end: ". ",
    },
    Lexicon {
        code: "es",
        orders: "svop|tsvo|svotp|psvo",
        conjunctions: "y luego|pero después|porque|de modo que|mientras",
        subjects: "el nuevo vecino|mi hermana|la directora de la escuela|un viejo amigo|\
            el equipo del norte|nadie de la oficina|el jardinero|la capitana del puerto|\
            nuestra doctora|el comité|una visitante|la huésped|el vigilante nocturno",
        verbs: "todavía busca|aún no encontró|ya vendió|quería ver|va a reparar|traerá|\
            olvida a menudo|no puede pagar|pintó|guarda|nunca preguntó por|escondió",
        objects: "la lista de los barcos|una carta del banco|las llaves de la casa|\
            el resto del dinero|un mapa de la isla|todos los libros viejos|\
            tres cajas de manzanas|el acta de la reunión|un techo nuevo|\
            el camino a la estación|el reloj roto|el precio del billete|\
            la segunda mitad del plan",
        places: "al final de la calle|en el jardín|al otro lado del río|detrás de la iglesia|\
            delante de la escuela|en casa|debajo del puente|junto al mar|cerca del mercado",
        times: "el lunes|en medio de la noche|antes del verano|hace una semana|\
            a principios de año|una vez más|por la tarde|después de la tormenta",
        space: " ",
        end: ". ",
    },
];
