// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links from the file of a network, `topology = "FILE"`: GraphML, or CSV with a column for each field of a link. They
//! stand behind the links that the scenario itself lists, with the same defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use roxmltree::{Document, Node as Element};
use sha2::Sha256;

use super::beside;
use super::fault::{Fault, Origin};
use super::settings::{self, Setting};
use super::tree::{Node, Value, get_or_insert};
use crate::input;
use crate::network::{Step, is_of_name};

/// Propagation in optical fibre (ITU-T G.114, Table A.1).
const DELAY_US_PER_KM: f64 = 5.0;
/// Mean radius of the Earth.
const EARTH_KM: f64 = 6371.0;
/// Fields of a link that edges of GraphML may have as attributes; others are not about traffic.
const EDGE_FIELDS: [&str; 5] = ["name", "rate", "delay", "queue", "loss"];
/// The rate in bit/s, as the Internet Topology Zoo has it.
const RATE_BPS: &str = "LinkSpeedRaw";

/// One link: its fields as text, by their path such as `reverse.delay`, and its line in the file.
struct Link {
    line: usize,
    fields: BTreeMap<String, String>,
}

/// Appends the links of the file that `topology` names. Its text goes into the hash.
pub(super) fn expand(
    root: &mut Node,
    given: &[Setting],
    directory: Option<&Path>,
    hash: &mut Sha256,
) -> Result<(), Fault> {
    let Some(chosen) = settings::resolved(root, given, "topology").cloned() else {
        return Ok(());
    };
    let inside = |fault: Fault| fault.inside(Step::from("topology"));
    let fault = |message: String| inside(Fault::new(chosen.origin.clone(), message));
    let Some(file) = chosen.text() else {
        return Err(fault("must be the name of a file in quotes".to_owned()));
    };
    let read = match Path::new(file)
        .extension()
        .and_then(|ending| ending.to_str())
    {
        Some("graphml") => from_graphml,
        Some("csv") => from_csv,
        _ => {
            let text = format!("`{file}` must end in .graphml or .csv, which tells its format");
            return Err(fault(text));
        }
    };
    let text = beside::read(directory, file, input::TOPOLOGY_BYTES, hash).map_err(fault)?;
    let links =
        read(&text).map_err(|(line, message)| fault(format!("{file}:{line}: {message}")))?;
    let nodes = nodes_of(file, links)?;
    root.list_mut("links", &chosen.origin)?.extend(nodes);
    Ok(())
}

/// Returns the links as the scenario would list them. Parallel links have a number in their name.
fn nodes_of(file: &str, links: Vec<Link>) -> Result<Vec<Node>, Fault> {
    let mut labels = BTreeMap::<String, usize>::new();
    let nodes = links.into_iter().map(|link| {
        let origin = Origin::Outside(format!("{file}:{}", link.line));
        let mut node = Node::new(origin.clone(), Value::Table(Vec::new()));
        for (path, text) in &link.fields {
            let value = match path.as_str() {
                "name" | "from" | "to" => Node::new(origin.clone(), Value::Text(text.clone())),
                _ => Node::read_value(text, &origin)?,
            };
            insert(&mut node, path, value);
        }
        if node.get("name").is_none() {
            let label = settings::label(&node);
            let number = labels.entry(label.clone()).or_default();
            *number += 1;
            if *number > 1 {
                let name = Value::Text(format!("{label}-{number}"));
                insert(&mut node, "name", Node::new(origin, name));
            }
        }
        Ok(node)
    });
    nodes.collect()
}

/// Sets the field at `path`, whose steps a dot separates.
fn insert(mut node: &mut Node, path: &str, value: Node) {
    for key in path.split('.') {
        let Value::Table(entries) = &mut node.value else {
            return;
        };
        node = get_or_insert(entries, key, &value.origin, || Value::Table(Vec::new()));
    }
    *node = value;
}

/// Reads a table with a heading; an empty cell leaves its field to the defaults. An error has its line.
fn from_csv(text: &str) -> Result<Vec<Link>, (usize, String)> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let line_of = |error: &csv::Error| error.position().map_or(1, |at| at.line() as usize);
    let place = |error: csv::Error| match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => (
            line_of(&error),
            format!("has {len} cells, but the heading {expected_len}"),
        ),
        _ => (line_of(&error), error.to_string()),
    };
    let heading = reader.headers().map_err(place)?.clone();
    for field in ["from", "to"] {
        if !heading.iter().any(|name| name == field) {
            let text = format!("the heading lacks `{field}`, as in `from,to,rate,delay`");
            return Err((1, text));
        }
    }
    let mut links = Vec::new();
    for record in reader.records() {
        let record = record.map_err(place)?;
        let line = record.position().map_or(1, |at| at.line() as usize);
        let cells = heading
            .iter()
            .zip(&record)
            .filter(|(_, cell)| !cell.is_empty());
        let cells = cells.map(|(field, cell)| (field.to_owned(), cell.to_owned()));
        let fields: BTreeMap<String, String> = cells.collect();
        if let Some(field) = ["from", "to"]
            .into_iter()
            .find(|key| !fields.contains_key(*key))
        {
            return Err((line, format!("the cell of `{field}` is empty")));
        }
        links.push(Link { line, fields });
    }
    Ok(links)
}

/// A node of a graph.
struct Place {
    name: String,
    /// In degrees.
    latitude_longitude: Option<(f64, f64)>,
}

/// Reads GraphML (graphml.graphdrawing.org): nodes are called by their `label`, or by their id; of a directed graph, two
/// edges in opposite directions make one link. An error has its line.
fn from_graphml(text: &str) -> Result<Vec<Link>, (usize, String)> {
    let document = Document::parse(text)
        .map_err(|error| (error.pos().row as usize, format!("is no GraphML: {error}")))?;
    let line = |element: Element<'_, '_>| document.text_pos_at(element.range().start).row as usize;
    let graph = document
        .descendants()
        .find(|element| element.has_tag_name("graph"));
    let graph = graph.ok_or_else(|| (1, "is no GraphML: it has no <graph>".to_owned()))?;
    let keys = document
        .descendants()
        .filter(|element| element.has_tag_name("key"));
    let keys = keys.filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)));
    let keys: BTreeMap<&str, &str> = keys.collect();
    let places = places(graph, &keys);
    let directed = graph.attribute("edgedefault") == Some("directed");
    let mut links: Vec<Link> = Vec::new();
    for edge in graph
        .children()
        .filter(|element| element.has_tag_name("edge"))
    {
        let end = |attribute: &str| {
            let id = edge.attribute(attribute);
            let id = id.ok_or_else(|| (line(edge), format!("the edge lacks `{attribute}`")))?;
            let place = places.get(id);
            place.ok_or_else(|| (line(edge), format!("there is no node `{id}`")))
        };
        let (from, to) = (end("source")?, end("target")?);
        let data = data_of(edge, &keys);
        let mut fields: BTreeMap<String, String> = EDGE_FIELDS
            .into_iter()
            .filter_map(|field| Some((field.to_owned(), data.get(field)?.to_string())))
            .collect();
        if let Some(bps) = data.get(RATE_BPS).and_then(|text| text.parse::<f64>().ok()) {
            fields
                .entry("rate".to_owned())
                .or_insert(format!("{bps:.0}bit"));
        }
        if let Some(km) = distance_km(from, to) {
            let delay = format!("{:.0}us", km * DELAY_US_PER_KM);
            fields.entry("delay".to_owned()).or_insert(delay);
        }
        let opposite = links.iter_mut().find(|link| {
            directed
                && link.fields["from"] == to.name
                && link.fields["to"] == from.name
                && !link
                    .fields
                    .keys()
                    .any(|field| field.starts_with("reverse."))
        });
        match opposite {
            Some(link) => {
                fields.remove("name");
                let back = fields
                    .into_iter()
                    .map(|(field, text)| (format!("reverse.{field}"), text));
                link.fields.extend(back);
            }
            None => {
                fields.insert("from".to_owned(), from.name.clone());
                fields.insert("to".to_owned(), to.name.clone());
                links.push(Link {
                    line: line(edge),
                    fields,
                });
            }
        }
    }
    Ok(links)
}

/// Returns the graph's nodes by id. Of several with the same label the later ones have their id in the name.
fn places<'a>(graph: Element<'a, 'a>, keys: &BTreeMap<&str, &str>) -> BTreeMap<&'a str, Place> {
    let mut taken = BTreeSet::new();
    let nodes = graph
        .children()
        .filter(|element| element.has_tag_name("node"));
    let places = nodes.filter_map(|node| {
        let id = node.attribute("id")?;
        let data = data_of(node, keys);
        let label = data.get("label").copied().unwrap_or(id);
        let name = |text: &str| text.replace(|c| !is_of_name(c), "_");
        let name = match name(label) {
            name if taken.insert(name.clone()) => name,
            name_of_others => format!("{name_of_others}/{}", name(id)),
        };
        let degrees = |key: &str| data.get(key)?.parse::<f64>().ok();
        let latitude_longitude = degrees("Latitude").zip(degrees("Longitude"));
        Some((
            id,
            Place {
                name,
                latitude_longitude,
            },
        ))
    });
    places.collect()
}

/// Returns the attributes of a node or edge by name.
fn data_of<'a>(
    element: Element<'a, 'a>,
    keys: &BTreeMap<&'a str, &'a str>,
) -> BTreeMap<&'a str, &'a str> {
    let data = element
        .children()
        .filter(|child| child.has_tag_name("data"));
    let named = data.filter_map(|data| {
        let name = keys.get(data.attribute("key")?)?;
        Some((*name, data.text()?.trim()))
    });
    named.collect()
}

/// Returns the length of the great circle between two nodes, where both have a place (haversine formula).
fn distance_km(from: &Place, to: &Place) -> Option<f64> {
    let (from, to) = from.latitude_longitude.zip(to.latitude_longitude)?;
    let (latitudes, longitudes) = (to.0 - from.0, to.1 - from.1);
    let half_sine_squared = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
    let cosines = from.0.to_radians().cos() * to.0.to_radians().cos();
    let haversine = half_sine_squared(latitudes) + cosines * half_sine_squared(longitudes);
    Some(2.0 * EARTH_KM * haversine.sqrt().min(1.0).asin())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="node" attr.name="Latitude" attr.type="double"/>
<key id="d2" for="node" attr.name="Longitude" attr.type="double"/>
<key id="d3" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
<key id="d4" for="edge" attr.name="delay" attr.type="string"/>
<graph edgedefault="undirected">
<node id="0"><data key="d0">N.rth</data><data key="d1">90</data><data key="d2">10</data></node>
<node id="1"><data key="d0">Equator</data><data key="d1">0</data><data key="d2">-70</data></node>
<node id="2"><data key="d0">N.rth</data></node>
<edge source="0" target="1"><data key="d3">1e7</data></edge>
<edge source="0" target="1"/>
<edge source="1" target="2"><data key="d4">3ms</data></edge>
</graph></graphml>"#;

    fn fields(link: &Link) -> Vec<String> {
        let fields = link.fields.iter();
        fields.map(|(key, text)| format!("{key}={text}")).collect()
    }

    /// A quarter of the Earth's circumference: 6371 km * pi / 2 = 10,007.5 km, 50.038 ms.
    #[test]
    fn a_graph_gives_rates_and_delays_by_distance() {
        let links = from_graphml(GRAPH).unwrap();
        let first = [
            "delay=50038us",
            "from=N_rth",
            "rate=10000000bit",
            "to=Equator",
        ];
        assert_eq!(fields(&links[0]), first);
        assert_eq!(links[0].line, 11);
        assert_eq!(
            fields(&links[2]),
            ["delay=3ms", "from=Equator", "to=N_rth/2"]
        );
        let nodes = nodes_of("zoo.graphml", links).unwrap();
        let name = |node: &Node| node.get("name").and_then(Node::text).map(str::to_owned);
        assert_eq!(name(&nodes[0]), None);
        assert_eq!(name(&nodes[1]).as_deref(), Some("N_rth-Equator-2"));
    }

    #[test]
    fn opposite_edges_of_a_directed_graph_are_one_link() {
        let directed = GRAPH.replace("undirected", "directed");
        let opposite = r#"<edge source="1" target="0"><data key="d4">9ms</data></edge></graph>"#;
        let links = from_graphml(&directed.replace("</graph>", opposite)).unwrap();
        assert_eq!(links.len(), 3);
        assert_eq!(links[0].fields["reverse.delay"], "9ms");
        let nodes = nodes_of("zoo.graphml", links).unwrap();
        let reverse = nodes[0].get("reverse").unwrap();
        assert_eq!(reverse.get("delay").and_then(Node::text), Some("9ms"));
    }

    #[test]
    fn a_table_has_a_column_for_each_field() {
        let text =
            "# a path\nfrom, to, rate, reverse.rate, queue\na, 1, 10mbit, 1mbit,\n1, b, , , 2bdp\n";
        let links = from_csv(text).unwrap();
        assert_eq!(
            fields(&links[0]),
            ["from=a", "rate=10mbit", "reverse.rate=1mbit", "to=1"]
        );
        assert_eq!(fields(&links[1]), ["from=1", "queue=2bdp", "to=b"]);
        assert_eq!(links[1].line, 4);
    }

    #[test]
    fn errors_name_the_line() {
        let lost = GRAPH.replace("target=\"2\"", "target=\"7\"");
        for (found, line, words) in [
            (from_graphml(&lost), 13, "no node `7`"),
            (from_graphml("<graphml/>"), 1, "no <graph>"),
            (
                from_graphml("<graphml>\n<graph>\n</graphml>"),
                3,
                "no GraphML",
            ),
            (from_csv("from,rate\n"), 1, "lacks `to`"),
            (from_csv("from,to\na,b\na,b,c\n"), 3, "has 3 cells"),
            (from_csv("from,to\na,\n"), 2, "`to` is empty"),
        ] {
            let (at, message) = found.err().expect("it is refused");
            assert_eq!(at, line, "{message}");
            assert!(message.contains(words), "{message}");
        }
    }
}
