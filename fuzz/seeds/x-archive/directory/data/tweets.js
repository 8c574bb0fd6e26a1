window.YTD.tweets.part0 = [ { "tweet" : { "id_str" : "12", "full_text" : "Tar &amp; rope",
"created_at" : "Wed Oct 10 20:19:24 +0000 2018", "entities" : { "urls" : [ ] } } } ]