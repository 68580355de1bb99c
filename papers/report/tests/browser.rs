// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report in a real browser.

mod common;
mod devtools;

use std::fs;

use devtools::Browser;
use serde_json::{Value, json};

/// A browser in which the fixture's report is open, at a fragment of it.
fn open(width: u32, height: u32, phone: bool, fragment: &str) -> Browser {
    let mut browser = Browser::start(width, height);
    browser.resize(width, height, phone);
    let path = browser.directory().join("report.html");
    fs::write(&path, netnice_report::html(&common::outcomes())).unwrap();
    let address = format!("file://{}{fragment}", path.display());
    browser.open(&address);
    browser
}

/// JavaScript: the chart of a figure of the fixture.
fn chart(name: &str) -> String {
    format!("netniceReport.charts.find(chart => chart.element.id === 'LP03-T1a-{name}')")
}

/// The visible range of a chart, from the least to the largest x.
fn view(browser: &mut Browser, name: &str) -> (f64, f64) {
    let view = browser.eval(&format!("{}.x.domain", chart(name)));
    (view[0].as_f64().unwrap(), view[1].as_f64().unwrap())
}

/// Brings a chart into sight; where a part of its plot is on the screen.
fn place(browser: &mut Browser, name: &str, part: f64) -> (f64, f64) {
    let svg = format!("{}.svg", chart(name));
    browser.eval(&format!(
        "{svg}.scrollIntoView({{ block: 'center', behavior: 'instant' }})"
    ));
    browser.settle();
    let along = format!(
        "{part} * ({0}.right - MARGIN.left) + MARGIN.left",
        chart(name)
    );
    let along = along.replace("MARGIN.left", "66");
    let x = browser.number(&format!(
        "(box => box.left + ({along}) / {0}.size.width * box.width)({svg}.getBoundingClientRect())",
        chart(name)
    ));
    let y = browser.number(&format!(
        "(box => box.top + box.height / 2)({svg}.getBoundingClientRect())"
    ));
    (x, y)
}

fn press(browser: &mut Browser, at: (f64, f64), kind: &str) {
    browser.mouse(
        kind,
        at,
        json!({ "button": "left", "buttons": 1, "clickCount": 1 }),
    );
}

/// Every figure is drawn, one paper at a time, and the browser redraws exactly the figures in the file.
#[test]
fn every_figure_is_there_and_is_drawn_again_as_it_was_written() {
    let mut browser = open(1280, 900, false, "");
    let figures: usize = common::outcomes()
        .outcomes
        .iter()
        .map(|outcome| outcome.figures.len())
        .sum();
    // And the one of the overview.
    let charts = browser.number("netniceReport.charts.length");
    assert_eq!(charts as usize, figures + 1);
    for page in ["overview", "LP03", "DS"] {
        browser.eval(&format!("location.hash = '{page}'"));
        browser.settle();
        let shown = browser.eval("pages().join()".replace(
            "pages()",
            "[...document.querySelectorAll('section.page')].filter(page => page.checkVisibility()).map(page => page.id)",
        ).as_str());
        assert_eq!(shown, json!(page));
        let undrawn = browser.eval(&format!(
            "[...document.querySelectorAll('#{page} figure.chart')].filter(figure => {{
                 const svg = figure.querySelector('svg.drawing');
                 const empty = 'empty' in svg.dataset;
                 const drawn = [...svg.querySelectorAll('.line, .bar')].filter(path => path.getBBox().width > 0
                     || path.parentElement.querySelector('.markers').getBBox().width > 0);
                 const curves = svg.querySelectorAll('g.curve').length;
                 return !(svg.getBoundingClientRect().width > 300) || (empty ? !svg.querySelector('.nothing')
                     : drawn.length !== curves) || svg.querySelectorAll('.axes .tick').length < 2;
             }}).map(figure => figure.id)"
        ));
        assert_eq!(undrawn, json!([]), "on {page}");
    }

    let file = netnice_report::html(&common::outcomes());
    let different = browser.eval(&format!(
        "(file => {{
             const written = new DOMParser().parseFromString(file, 'text/html');
             const parts = svg => [...svg.querySelectorAll('.axes *, .curve path')].map(part => [
                 part.tagName, part.getAttribute('class'), part.textContent,
                 ...['d', 'x', 'y', 'transform', 'text-anchor'].map(name => part.getAttribute(name) ?? ''),
             ].join('|'));
             const near = (a, b) => {{
                 const number = /-?\\d+(\\.\\d+)?/g;
                 const [x, y] = [a, b].map(text => (text.match(number) ?? []).map(Number));
                 return a.replace(number, '#') === b.replace(number, '#') && x.every((x, at) => Math.abs(x - y[at]) < 0.11);
             }};
             const different = [];
             for (const chart of netniceReport.charts) {{
                 chart.size = {{ width: 760, height: 400 }};
                 chart.draw();
                 const ours = parts(chart.svg);
                 const theirs = parts(written.getElementById(chart.element.id).querySelector('svg.drawing'));
                 ours.forEach((part, at) => {{
                     if (!near(part, theirs[at] ?? '')) different.push([chart.element.id, part.slice(0, 300), theirs[at]?.slice(0, 300)]);
                 }});
                 if (ours.length !== theirs.length) different.push([chart.element.id, ours.length, theirs.length]);
             }}
             return different.slice(0, 3);
         }})({})",
        serde_json::to_string(&file).unwrap()
    ));
    assert_eq!(different, json!([]));
    assert_eq!(browser.problems, [""; 0]);
}

#[test]
fn hostile_text_stays_text() {
    let mut browser = open(1280, 900, false, "#DS");
    assert_eq!(
        browser.text("document.title"),
        "TCP-LP and its relatives, reproduced"
    );
    assert_eq!(browser.number("document.images.length"), 0.0);
    let title = browser
        .text("document.querySelector('#DS-T3 figure:last-of-type figcaption h4').textContent");
    assert_eq!(title, common::HOSTILE);
    let names = browser.eval("netniceReport.charts.at(-1).data.curves.map(curve => curve.name)");
    assert_eq!(names, json!([common::HOSTILE]));
    // Addresses that lead nowhere show the overview.
    browser.eval("location.hash = '%E0%A4%A'");
    browser.settle();
    assert_eq!(
        browser.text("document.querySelector('.page.current').id"),
        "overview"
    );
    assert_eq!(browser.problems, [""; 0]);
}

#[test]
fn figures_zoom_by_wheel_drag_keys_and_buttons() {
    let mut browser = open(1280, 900, false, "#LP03-T1a");
    let (least, largest) = view(&mut browser, "cwnd");
    let middle = place(&mut browser, "cwnd", 0.5);
    let scrolled = browser.number("scrollY");

    // Without Ctrl the wheel is the page's.
    browser.mouse("mouseWheel", middle, json!({ "deltaX": 0, "deltaY": -100 }));
    assert_eq!(view(&mut browser, "cwnd"), (least, largest));
    assert!(browser.number("scrollY") <= scrolled);
    let middle = place(&mut browser, "cwnd", 0.5);
    browser.mouse(
        "mouseWheel",
        middle,
        json!({ "deltaX": 0, "deltaY": -100, "modifiers": 2 }),
    );
    let (from, to) = view(&mut browser, "cwnd");
    assert!(
        ((to - from) * 1.5 - (largest - least)).abs() < 1.0,
        "{from} to {to}"
    );
    assert!(
        ((from + to) / 2.0 - (least + largest) / 2.0).abs() < 3.0,
        "{from} to {to}"
    );

    browser.click("#LP03-T1a-cwnd .tools button[aria-label='Show all']");
    assert_eq!(view(&mut browser, "cwnd"), (least, largest));

    // From a quarter to a half.
    let quarter = place(&mut browser, "cwnd", 0.25);
    press(&mut browser, quarter, "mousePressed");
    press(&mut browser, middle, "mouseMoved");
    assert!(
        browser.number(&format!(
            "{}.svg.querySelector('.selection').getBBox().width",
            chart("cwnd")
        )) > 100.0
    );
    press(&mut browser, middle, "mouseReleased");
    let (from, to) = view(&mut browser, "cwnd");
    let part = |part: f64| least + part * (largest - least);
    assert!(
        (from - part(0.25)).abs() < 5.0 && (to - part(0.5)).abs() < 5.0,
        "{from} to {to}"
    );
    // The drawn points lie in it, and so do the ticks.
    let ticks = browser.eval(&format!(
        "{}.x.ticks(6).map(tick => tick.value)",
        chart("cwnd")
    ));
    let ticks: Vec<f64> = ticks
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    assert!(
        ticks.len() > 3 && ticks.iter().all(|tick| (from..=to).contains(tick)),
        "{ticks:?}"
    );

    // The figure has the focus now.
    browser.key("+");
    let (closer_from, closer_to) = view(&mut browser, "cwnd");
    assert!(closer_from > from && closer_to < to);
    browser.key("ArrowRight");
    let (moved_from, moved_to) = view(&mut browser, "cwnd");
    assert!(
        moved_from > closer_from
            && ((moved_to - moved_from) - (closer_to - closer_from)).abs() < 0.1
    );
    browser.key("0");
    assert_eq!(view(&mut browser, "cwnd"), (least, largest));
    // Not beyond the ends, and not without end.
    for _ in 0..60 {
        browser.eval(&format!("{}.zoom(3)", chart("cwnd")));
    }
    let (from, to) = view(&mut browser, "cwnd");
    assert!(
        to > from && from >= least && to <= largest,
        "{from} to {to}"
    );
    browser.eval(&format!("{}.zoom(1e-9)", chart("cwnd")));
    assert_eq!(view(&mut browser, "cwnd"), (least, largest));

    // On a logarithmic axis, too: half of the plot is half of the decades.
    let (least, largest) = view(&mut browser, "lines");
    browser.eval(&format!("{}.zoom(2)", chart("lines")));
    let (from, to) = view(&mut browser, "lines");
    assert!(
        ((to / from).powi(2) / (largest / least) - 1.0).abs() < 1e-6,
        "{from} to {to}"
    );
    assert_eq!(browser.problems, [""; 0]);
}

#[test]
fn a_phone_has_no_overflow_and_pinches() {
    let mut browser = open(375, 800, true, "");
    for page in ["overview", "LP03", "DS"] {
        browser.eval(&format!("location.hash = '{page}'"));
        browser.settle();
        browser.eval(
            "document.querySelectorAll('details').forEach(details => { details.open = true; })",
        );
        browser.settle();
        let wide = browser.number("document.documentElement.scrollWidth");
        assert!(wide <= 375.0, "{page} is {wide} wide");
        // Letters keep their size: the drawing is as wide as the screen, not shrunk to it.
        let shrunk = browser.eval(&format!(
            "netniceReport.charts.filter(chart => chart.element.closest('#{page}')
                 && Math.abs(chart.svg.getBoundingClientRect().width / chart.size.width - 1) > 0.05).length"
        ));
        assert_eq!(shrunk, json!(0), "{page}");
    }
    browser.eval("location.hash = 'LP03'");
    browser.settle();
    let (least, largest) = view(&mut browser, "cwnd");
    let [a, b] = [0.4, 0.6].map(|part| place(&mut browser, "cwnd", part));
    let [far_a, far_b] = [0.2, 0.8].map(|part| place(&mut browser, "cwnd", part));
    browser.touch("touchStart", &[a, b]);
    browser.touch("touchMove", &[far_a, far_b]);
    browser.touch("touchEnd", &[]);
    let (from, to) = view(&mut browser, "cwnd");
    let third = (largest - least) / 3.0;
    assert!((to - from - third).abs() < third / 5.0, "{from} to {to}");
    // One finger moves the visible range.
    browser.touch("touchStart", &[far_b]);
    browser.touch("touchMove", &[far_a]);
    browser.touch("touchEnd", &[]);
    let (moved, _) = view(&mut browser, "cwnd");
    assert!(moved > from, "{from} to {moved}");
    assert_eq!(browser.problems, [""; 0]);
}

#[test]
fn the_theme_toggles_and_curves_are_taken_away_and_read_out() {
    let mut browser = open(1280, 900, false, "#LP03");
    let back = "getComputedStyle(document.body).backgroundColor";
    let line = "getComputedStyle(document.querySelector('#LP03-T1a-lines .curve .line')).stroke";
    let light = (browser.text(back), browser.text(line));
    browser.click("button.theme");
    let dark = (browser.text(back), browser.text(line));
    assert!(light.0 != dark.0 && light.1 != dark.1, "{light:?} {dark:?}");
    assert_eq!(
        browser.text("document.querySelector('button.theme').ariaPressed"),
        "true"
    );
    browser.click("button.theme");
    assert_eq!((browser.text(back), browser.text(line)), light);
    // A system that is dark.
    let dark_system = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.eval("delete document.documentElement.dataset.theme");
    browser.call("Emulation.setEmulatedMedia", dark_system);
    assert_eq!(browser.text(back), dark.0);

    let display = "getComputedStyle(document.querySelector('#LP03-T1a-lines .curve[data-curve=\"1\"]')).display";
    assert_ne!(browser.text(display), "none");
    browser.click("#LP03-T1a-lines .legend [data-curve='1'] button");
    assert_eq!(browser.text(display), "none");

    let at = place(&mut browser, "lines", 0.5);
    browser.mouse("mouseMoved", at, json!({}));
    let read = browser.text("document.querySelector('#LP03-T1a-lines .readout').innerText");
    assert!(
        read.contains(" s") && read.contains("TCP") && read.contains('±'),
        "{read}"
    );
    assert!(!read.contains("TCP-LP\n"), "{read}");
    assert_eq!(browser.problems, [""; 0]);
}

#[test]
fn downloads_are_whole() {
    let mut browser = open(1280, 900, false, "#LP03");
    let to = browser.directory().join("downloads");
    let behaviour = json!({ "behavior": "allow", "downloadPath": to, "eventsEnabled": true });
    browser.call("Browser.setDownloadBehavior", behaviour);
    let mut download = |figure: &str, format: &str| {
        browser.click(&format!(
            "#LP03-T1a-{figure} .tools button[aria-label$='.{format}']"
        ));
        browser.wait(|method, details| {
            method == "Browser.downloadProgress" && details["state"] == "completed"
        });
        fs::read(to.join(format!("{figure}.{format}"))).unwrap()
    };
    let csv = String::from_utf8(download("lines", "csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    // Five curves over eleven periods, a model of two points, three points of the paper, and the heading.
    assert_eq!(lines.len(), 5 * 11 + 2 + 3 + 1);
    assert_eq!(
        lines[0],
        "curve,period (s),throughput (of the excess),half of the 95 % interval"
    );
    assert!(lines[1].starts_with("TCP,0.05,0.4"), "{}", lines[1]);
    assert!(lines.contains(&"\"the paper, about\",0.2,0.5,"), "{csv}");
    let svg = String::from_utf8(download("lines", "svg")).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.contains("TCP-LP, today's"),
        "{}",
        &svg[..200]
    );
    assert!(!svg.contains("var(") && !svg.contains("class="));
    let png = download("bars", "png");
    assert!(
        png.starts_with(b"\x89PNG") && png.len() > 5_000,
        "{} bytes",
        png.len()
    );
    // Width, from the header.
    let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
    assert!(width > 1500, "{width}");
    assert_eq!(browser.problems, [""; 0]);
}

#[test]
fn everything_is_there_in_print_and_without_scripts() {
    let mut browser = open(800, 900, false, "");
    let all = "[...document.querySelectorAll('section.page, figure.chart svg.drawing, table.values')].every(part => part.checkVisibility())";
    assert_eq!(browser.eval(all), json!(false));
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    assert_eq!(browser.eval(all), json!(true));
    assert_eq!(
        browser.eval("document.querySelector('header.top').checkVisibility()"),
        json!(false)
    );
    // Folded parts are open while the page is printed.
    browser.eval("addEventListener('beforeprint', () => { window.folded = document.querySelectorAll('details:not([open])').length; })");
    let pdf = browser.call("Page.printToPDF", json!({}));
    assert!(pdf["data"].as_str().unwrap().len() > 50_000);
    assert_eq!(browser.number("window.folded"), 0.0);
    assert!(browser.number("document.querySelectorAll('details:not([open])').length") > 0.0);

    browser.call("Emulation.setEmulatedMedia", json!({ "media": "" }));
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        json!({ "value": true }),
    );
    browser.call("Page.reload", json!({}));
    browser.wait(|method, _| method == "Page.loadEventFired");
    assert_eq!(browser.eval("typeof netniceReport"), json!("undefined"));
    assert_eq!(browser.eval(all), json!(true));
    assert_eq!(
        browser.eval("document.querySelectorAll('.tools').length"),
        json!(0)
    );
    assert_eq!(
        browser.eval("document.querySelector('button.theme').checkVisibility()"),
        json!(false)
    );
    let points =
        browser.number("document.querySelector('#LP03-T1a-cwnd .curve .line').getTotalLength()");
    assert!(points > 1000.0);
}
