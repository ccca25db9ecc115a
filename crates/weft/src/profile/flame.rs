//! A flame graph: folded stacks as a picture that a browser shows, in one file.
//!
//! Must not know what was measured. Invariants: a box is as wide as its share of all samples; the file refers to no other; text of
//! the application stands in it only as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::folded::Folded;

/// Width of the picture, in pixels of the screen.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const MARGIN: f64 = 10.0;
const HEAD: f64 = 46.0;
/// Narrower boxes are left out: nobody would see them.
const WIDTH_MIN: f64 = 0.2;
/// Width of a letter, about.
const LETTER: f64 = 6.6;
/// Deeper functions are left out.
const DEPTH_MAX: usize = 256;

/// A function below the ones that called it.
#[derive(Default)]
struct Node {
    count: u64,
    below: BTreeMap<String, Node>,
}

impl Node {
    fn of(folded: &Folded) -> Node {
        let mut root = Node::default();
        for (stack, count) in folded.stacks() {
            root.count += count;
            let mut node = &mut root;
            for function in stack.split(';').take(DEPTH_MAX) {
                node = node.below.entry(function.to_owned()).or_default();
                node.count += count;
            }
        }
        root
    }

    fn depth(&self) -> usize {
        self.below.values().map(|node| 1 + node.depth()).max().unwrap_or(0)
    }
}

/// The picture.
pub fn draw(folded: &Folded, title: &str) -> String {
    let root = Node::of(folded);
    let height = HEAD + ROW * (root.depth().max(1) as f64) + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" \
         font-family=\"monospace\" font-size=\"11\">\n<style>g{{cursor:pointer}}rect{{stroke:#fff;stroke-width:.4}}\
         text{{pointer-events:none}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{MARGIN}\" y=\"18\" font-size=\"14\">{}</text>\n\
         <text x=\"{MARGIN}\" y=\"36\" fill=\"#555\">{} samples; on-CPU: where PHP computes, off-CPU: where requests wait. \
         Click a box to widen it, the ground to see all.</text>\n",
        escaped(title),
        root.count
    );
    let scale = (WIDTH - 2.0 * MARGIN) / root.count.max(1) as f64;
    let mut picture = Picture { svg: &mut svg, scale, total: root.count };
    // The side that computes stands on the left.
    let mut sides: Vec<_> = root.below.iter().collect();
    sides.sort_by_key(|(name, _)| std::cmp::Reverse(name.as_str()));
    picture.row(&sides, 0.0, 0, None);
    svg + SCRIPT + "</svg>\n"
}

struct Picture<'a> {
    svg: &'a mut String,
    /// Pixels of a sample.
    scale: f64,
    total: u64,
}

impl Picture<'_> {
    /// Draws functions beside each other from `x` samples on, and what they called below them.
    fn row(&mut self, nodes: &[(&String, &Node)], mut x: f64, depth: usize, waits: Option<bool>) {
        for (name, node) in nodes {
            let is_waiting = waits.unwrap_or(name.as_str() == "off-CPU");
            let width = node.count as f64 * self.scale;
            if width >= WIDTH_MIN {
                self.draw(name, node.count, (x * self.scale + MARGIN, width), depth, is_waiting);
                let below: Vec<_> = node.below.iter().collect();
                self.row(&below, x, depth + 1, Some(is_waiting));
            }
            x += node.count as f64;
        }
    }

    fn draw(&mut self, name: &str, count: u64, (x, width): (f64, f64), depth: usize, is_waiting: bool) {
        let y = HEAD + ROW * depth as f64;
        let percent = count as f64 / self.total as f64 * 100.0;
        let name = escaped(name);
        // Writing to a string does not fail.
        let _ = writeln!(
            self.svg,
            "<g data-x=\"{x:.2}\" data-w=\"{width:.2}\" data-y=\"{depth}\"><title>{name}: {count} samples, {percent:.2} %</title>\
             <rect x=\"{x:.2}\" y=\"{y:.0}\" width=\"{width:.2}\" height=\"16\" fill=\"{}\"/>\
             <text x=\"{:.2}\" y=\"{:.0}\" data-n=\"{name}\">{}</text></g>",
            colour(&name, is_waiting),
            x + 3.0,
            y + 12.0,
            escaped_part(&name, width),
        );
    }
}

/// What fits of a name that is escaped.
fn escaped_part(name: &str, width: f64) -> String {
    let room = ((width - 6.0) / LETTER).max(0.0) as usize;
    if room < 3 {
        return String::new();
    }
    let plain = unescaped(name);
    let fitting: String = plain.chars().take(room).collect();
    if fitting.len() == plain.len() {
        return escaped(&plain);
    }
    escaped(&fitting.chars().take(room - 1).collect::<String>()) + "…"
}

/// Warm for what computes, cold for what waits; each function has a shade of its own.
fn colour(name: &str, is_waiting: bool) -> String {
    let hash = name.bytes().fold(5381_u32, |hash, byte| hash.wrapping_mul(33) ^ u32::from(byte));
    let (hue, light) = (hash % 30, 62 + hash / 31 % 16);
    let hue = if is_waiting { 195 + hue } else { 10 + hue };
    format!("hsl({hue},75%,{light}%)")
}

const ESCAPES: [(char, &str); 5] =
    [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match ESCAPES.iter().find(|(plain, _)| *plain == letter) {
            Some((_, written)) => escaped.push_str(written),
            // XML has no way to write the others.
            None if letter.is_control() => escaped.push('_'),
            None => escaped.push(letter),
        }
    }
    escaped
}

fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (letter, written) in ESCAPES.iter().rev() {
        plain = plain.replace(written, &letter.to_string());
    }
    plain
}

/// A click on a box makes it, and what it called, as wide as the picture; its callers stay visible.
const SCRIPT: &str = r##"<script><![CDATA[
const all = [...document.querySelectorAll('g')], W = 1180, M = 10;
function show(x0, w0, y0) {
  for (const g of all) {
    let x = +g.dataset.x, w = +g.dataset.w;
    const caller = g.dataset.y < y0 && x <= x0 + .01 && x + w >= x0 + w0 - .01;
    if (caller) { x = M; w = W; } else { x = (x - x0) / w0 * W + M; w = w / w0 * W; }
    const hidden = !caller && (g.dataset.y < y0 || x < M - .01 || x + w > M + W + .01 || w < .2);
    g.style.display = hidden ? 'none' : '';
    g.style.opacity = caller ? .6 : 1;
    const [r, t] = [g.querySelector('rect'), g.querySelector('text')];
    r.setAttribute('x', x); r.setAttribute('width', w); t.setAttribute('x', x + 3);
    const n = t.dataset.n, room = Math.floor((w - 6) / 6.6);
    t.textContent = room < 3 ? '' : n.length <= room ? n : n.slice(0, room - 1) + '…';
  }
}
for (const g of all) g.onclick = e => { show(+g.dataset.x, +g.dataset.w, +g.dataset.y); e.stopPropagation(); };
document.documentElement.onclick = () => show(M, W, 0);
]]></script>
"##;

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &str) -> String {
        let mut folded = Folded::default();
        folded.add_lines(lines);
        draw(&folded, "a & b")
    }

    #[test]
    fn a_box_is_as_wide_as_its_share() {
        let svg = drawn("on-CPU;f 3\noff-CPU;g;[sleep] 1\n");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains(">a &amp; b</text>") && svg.contains(">4 samples;"), "{svg}");
        assert!(
            svg.contains("data-x=\"10.00\" data-w=\"885.00\" data-y=\"1\"><title>f: 3 samples, 75.00 %"),
            "{svg}"
        );
        assert!(
            svg.contains("data-x=\"895.00\" data-w=\"295.00\" data-y=\"2\"><title>[sleep]: 1 samples"),
            "{svg}"
        );
    }

    #[test]
    fn names_are_text_and_nothing_else() {
        let svg = drawn("on-CPU;</title><script>\"&quot 1\n");
        assert_eq!(svg.matches("<script>").count(), 1, "{svg}");
        assert!(svg.contains("&lt;/title&gt;&lt;script&gt;&quot;&amp;quot: 1 samples"), "{svg}");
        assert_eq!(unescaped(&escaped("<&amp;'")), "<&amp;'");
    }

    #[test]
    fn an_empty_profile_is_a_picture() {
        assert!(drawn("").contains(">0 samples;"));
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(escaped_part("éééééééééé", 40.0), "éééé…");
        assert_eq!(
            (escaped_part("abc", 100.0), escaped_part("abc", 10.0)),
            ("abc".to_owned(), String::new())
        );
    }
}
