//! Tests of HTML that converters read wrongly: raised numbers, formulas, tables, tasks.

use super::html;

/// Checks that each HTML becomes this markdown.
fn check(rows: &[(&str, &str)]) {
    let wrong: Vec<_> = rows
        .iter()
        .map(|(page, markdown)| (*page, *markdown, html(page)))
        .filter(|(_, markdown, read)| read != markdown)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn raised_and_lowered_text_joins_no_number() {
    check(&[
        ("10<sup>3</sup> litres", "10³ litres"),
        ("6.02&times;10<sup>23</sup>", "6.02×10²³"),
        ("1<sup>1</sup>/<sub>2</sub> cups", "1 1/2 cups"),
        ("2<sup>3</sup>&frasl;<sub>4</sub>cups", "2 3/4 cups"),
        ("about <sup>1</sup>/<sub>2</sub>", "about 1/2"),
        ("1&frac12;", "1½"),
        ("H<sub>2</sub>O and CO<sub>2</sub>", "H₂O and CO₂"),
        ("SO<sub>4</sub><sup>2&minus;</sup>", "SO₄²⁻"),
        ("<sup>14</sup>C", "¹⁴C"),
        ("21<sup>st</sup>, 1<sup>er</sup>, 2<sup>e</sup>", "21st, 1er, 2e"),
        ("20<sup>o</sup>C", "20ºC"),
        ("2<sup>n</sup> x<sup>n+1</sup>y", "2^n x^(n+1)y"),
        ("x<sub>i</sub><sup>2</sup>", "x\\_i²"),
        ("x<sup>y<sup>2</sup></sup>", "x^(y²)"),
        ("e<sup>&minus;2x</sup>", "e^(−2x)"),
        ("log<sub>10</sub>100", "log₁₀100"),
        ("word<sup>[1]</sup>", "word\\[1\\]"),
        ("2023<sup><a href='#n4'>4</a></sup>", "2023[⁴](#n4)"),
        ("2023<a href='#n4'><sup>4</sup></a>", "2023[⁴](#n4)"),
        ("2023<sup><a href='#a'>a</a>,<a href='#2'>2</a></sup>", "2023[\\[a\\]](#a),[²](#2)"),
        ("12%<sup>a</sup>5", "12%^a 5"),
        ("<b>10<sup>3</b></sup> x", "**10³** x"),
        ("10<sup><b>3</b></sup> x", "10³ x"),
        ("a 5<sup>note <p>x</p></sup>6", "a 5 note\n\nx\n\n6"),
        ("<pre>10<sup>3</sup></pre>", "```\n10³\n```"),
        ("5<sup>3", "5 3"),
    ]);
    let long = "word ".repeat(100);
    assert_eq!(html(&format!("5<sup>{long}</sup>6")), format!("5 {long}6"));
}

#[test]
fn numbers_side_by_side_stay_two() {
    check(&[
        ("was <del>120</del><ins>95</ins> marks", "was ~~120~~ 95 marks"),
        ("un<ins>known</ins>", "unknown"),
        ("<s>old</s>new", "~~old~~ new"),
        ("<a href=a>1</a><a href=b>2</a>", "[1](a) [2](b)"),
        ("<button>1</button><button>2</button>", "1 2"),
        (
            "<span style='display: inline-block'>1</span><span style='display:inline-block'>2</span>",
            "1 2",
        ),
        ("<span>20</span><span>26</span>", "2026"),
        ("1000<wbr>000", "1000000"),
        ("5<svg><path/></svg>6", "5 6"),
        ("5<img src='data:x'>6", "5 6"),
        ("<ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp></ruby>", "東(とう)"),
        ("5<q>6</q>", "5\"6\""),
        ("<ol start=5><li>a<li>b</ol>", "5. a\n6. b"),
        ("<ol><li>a<li value=9>b<li>c</ol>", "- 1\\. a\n- 9\\. b\n- 10\\. c"),
        ("<ul><li>a</li> <ul><li>b</li></ul> <li>c</ul>", "- a\n  - b\n- c"),
        ("<ol><li>a</li><ul><li>b</ul><li>c</ol>", "1. a\n   - b\n2. c"),
        ("<ol reversed><li>a<li>b</ol>", "- 2\\. a\n- 1\\. b"),
        ("<ol start=0><li>a</ol>", "- 0\\. a"),
    ]);
}

#[test]
fn formulas_keep_their_words() {
    let tex = |math: &str, tex: &str| {
        format!(
            "<semantics>{math}<annotation encoding='application/x-tex'>{tex}</annotation>\
                 </semantics>"
        )
    };
    let quarter = tex("<mfrac><mn>1</mn><mn>4</mn></mfrac>", "\\frac{1}{4}");
    let volume = tex("<mi>V</mi>", "V = \\pi r_1^2");
    let cases = [
        (format!("a quarter: <math>{quarter}</math> where"), "a quarter: $\\frac{1}{4}$ where"),
        (format!("a<math display=block>{volume}</math>b"), "a\n\n$$V = \\pi r_1^2$$\n\nb"),
        (
            format!("5<span class=katex><span class=katex-mathml><math>{quarter}</math></span><span \
                     class=katex-html aria-hidden=true>14</span></span>6"),
            "5 $\\frac{1}{4}$ 6",
        ),
        (
            "x <span class=MathJax_Preview>a2</span><script type='math/tex'>a^2</script> y".into(),
            "x $a^2$ y",
        ),
        (
            "<mjx-container><mjx-math aria-hidden=true>x2</mjx-math><mjx-assistive-mml><math><msup>\
             <mi>x</mi><mn>2</mn></msup></math></mjx-assistive-mml></mjx-container>".into(),
            "x²",
        ),
        (
            "<math><mi>A</mi><mo>=</mo><mfrac><mrow><mn>22</mn><msup><mi>d</mi><mn>2</mn></msup>\
             </mrow><mn>28</mn></mfrac></math> m".into(),
            "A = (22 d²)/28 m",
        ),
        ("<math><mn>1</mn><mfrac><mn>1</mn><mn>2</mn></mfrac></math>".into(), "1 1/2"),
        ("<math><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>".into(), "x\\_i²"),
        ("<math><msqrt><mn>2</mn><mi>x</mi></msqrt></math>".into(), "√(2 x)"),
        ("<math alttext='{\\displaystyle e^{x}}'><mi>e</mi></math>".into(), "$e^{x}$"),
        ("<p>a <math><mi>x</mi><p>b".into(), "a x\n\nb"),
    ];
    for (page, markdown) in cases {
        assert_eq!(html(&page), markdown, "{page}");
    }
}

#[test]
fn a_table_keeps_each_value_under_its_heading() {
    check(&[
        (
            "<table><tr><th>A<th>B<tr><td>x<td><ul><li>lid<li>tap</ul></table>",
            "| A | B |\n| --- | --- |\n| x | lid; tap |",
        ),
        (
            "<table><tr><th>A<th>B<tr><td><pre>a | b\nc</pre><td><p>one</p><p>two.</p><p>3</p></table>",
            "| A | B |\n| --- | --- |\n| a \\| b; c | one; two. 3 |",
        ),
        (
            "<table><tr><th>A<th>B<th>C<tr><td rowspan=2>Oak<td>225<td>x<tr><td>300<td>y\
             <tr><td colspan=2>none<td>0</table>",
            "| A | B | C |\n| --- | --- | --- |\n| Oak | 225 | x |\n| Oak | 300 | y |\n\
             | none | none | 0 |",
        ),
        (
            "<table><tr><th>A<th>B<tr><td>1<td rowspan=9>z<tr><td>2</table>",
            "| A | B |\n| --- | --- |\n| 1 | z |\n| 2 | z |",
        ),
        (
            "<table><tr><th>A<th>B<tr><th>Steel<td>5<br>0</table>",
            "| A | B |\n| --- | --- |\n| Steel | 5; 0 |",
        ),
        (
            "<table><tr><th>Name<td>Ann<tr><th>Age<td>7</table>",
            "|  |  |\n| --- | --- |\n| Name | Ann |\n| Age | 7 |",
        ),
        (
            "<table><tr><th>A<th>B<tr><td>x<td><table><tr><td>1<td>2</table></table>",
            "| A | B |\n| --- | --- |\n| x | 1; 2 |",
        ),
        ("<table><tr><td><ul><li>Home</ul><td><p>Text</p></table>", "- Home\n\nText"),
    ]);
}

#[test]
fn spans_without_end_are_bounded() {
    let rows = "<tr><td rowspan=1000000 colspan=1000000>wide".repeat(3000);
    let page = format!("<table><tr><th>a<th>b{rows}</table>");
    let text = html(&page);
    assert!(text.len() <= 4 * page.len(), "{} of {}", text.len(), page.len());
    let cells = "<td rowspan=99>x".repeat(20_000);
    let page = format!("<table><tr><th>a<th>b<tr>{cells}{}</table>", "<tr>".repeat(20_000));
    assert!(html(&page).len() <= 4 * page.len());
}

#[test]
fn ticks_of_task_lists_are_kept() {
    check(&[
        (
            "<ul><li><input type=checkbox checked disabled> done<li><input type=checkbox>open</ul>",
            "- [x] done\n- [ ] open",
        ),
        (
            "<ul><li><label><input type=checkbox checked><span></span></label><div><p>a</p></div></ul>",
            "- [x] a",
        ),
        ("<ul><li><p><input type=checkbox> a</p><p>b</p></ul>", "- [ ] a\n\n  b"),
        ("<p><input type=checkbox checked>agreed", "☑ agreed"),
        ("5<input type=text value=6>7", "5 7"),
    ]);
}
