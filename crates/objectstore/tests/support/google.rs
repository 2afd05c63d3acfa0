//! The same objects by the JSON interface of Google Cloud Storage: tags are generations, parts are objects.

use serde_json::{Value, json};

use super::{Answer, Asked, Server, State, Stored, checksum, unpercent};
use objectstore::{Client, Credentials, GoogleOptions, Store};

/// The bucket of such a server. The token is sent to this machine only.
pub fn google(client: &Client, url: &str) -> Store {
    let (bucket, endpoint) = ("bucket".to_owned(), Some(url.to_owned()));
    let credentials = Credentials::bearer("token");
    client.google(GoogleOptions { bucket, endpoint, credentials }).expect("a store")
}

const OBJECTS: &str = "/storage/v1/b/bucket/o";
const UPLOADS: &str = "/upload/storage/v1/b/bucket/o";

fn refusal(status: u16, reason: &str) -> Answer {
    let error = json!({ "domain": "global", "reason": reason, "message": "it is so" });
    let error = json!({ "error": { "code": status, "message": "it is so", "errors": [error] } });
    Answer::with(status, error.to_string().into_bytes())
}

fn document(document: &Value) -> Answer {
    Answer::with(200, document.to_string().into_bytes())
}

fn resource(key: &str, object: &Stored) -> Value {
    let mut resource = json!({
        "kind": "storage#object",
        "name": key,
        "size": object.bytes.len().to_string(),
        "generation": object.tag,
        "updated": "2013-05-24T00:00:00.000Z",
    });
    if let Some(writer) = &object.writer {
        resource["metadata"] = json!({ "dovetail-write": writer });
    }
    resource
}

impl State {
    /// `None` for what is asked in another way.
    pub(super) fn google(&mut self, asked: &Asked) -> Option<Answer> {
        let method = asked.method.as_str();
        if asked.path == UPLOADS {
            return Some(self.insert_object(asked));
        }
        let rest = asked.path.strip_prefix(OBJECTS)?;
        if rest.is_empty() {
            return Some(self.page(asked));
        }
        let name = rest.strip_prefix('/').expect("a name");
        Some(match (method, name.strip_suffix("/compose")) {
            ("POST", Some(name)) => self.compose(&unpercent(name), asked),
            ("GET", _) if asked.query.contains_key("alt") => self.media(&unpercent(name), asked),
            ("GET", _) => match self.objects.get(&unpercent(name)) {
                Some(object) => document(&resource(&unpercent(name), object)),
                None => refusal(404, "notFound"),
            },
            ("DELETE", _) => match self.objects.remove(&unpercent(name)) {
                Some(_) => Answer::with(204, vec![]),
                None => refusal(404, "notFound"),
            },
            _ => refusal(405, "methodNotAllowed"),
        })
    }

    fn allows(&self, key: &str, asked: &Asked) -> bool {
        let wanted = asked.query.get("ifGenerationMatch");
        let there = self.objects.get(key).map_or("0", |object| &object.tag);
        wanted.is_none_or(|wanted| wanted == there)
    }

    fn media(&self, key: &str, asked: &Asked) -> Answer {
        let Some(object) = self.objects.get(key) else { return refusal(404, "notFound") };
        if !self.allows(key, asked) {
            return refusal(412, "conditionNotMet");
        }
        let mut answer = self.get(key, asked);
        // What S3 says in other words.
        answer.headers.retain(|(name, _)| !name.starts_with("x-amz") && name != "ETag");
        answer
            .header("x-goog-generation", object.tag.clone())
            .header("x-goog-hash", format!("crc32c={},md5=AAAA", checksum(&object.bytes)))
    }

    /// Metadata and bytes in one body.
    fn insert_object(&mut self, asked: &Asked) -> Answer {
        assert_eq!(asked.query["uploadType"], "multipart");
        let kind = &asked.headers["content-type"];
        let boundary = kind.strip_prefix("multipart/related; boundary=").expect("a boundary");
        let find = |what: &str, from: usize| {
            let bytes = &asked.body[from..];
            from + bytes.windows(what.len()).position(|some| some == what.as_bytes()).expect(what)
        };
        let first = find("\r\n\r\n", 0) + 4;
        let first_end = find(&format!("\r\n--{boundary}\r\n"), first);
        let second = find("\r\n\r\n", first_end + 2) + 4;
        let end = format!("\r\n--{boundary}--\r\n");
        let second_end = asked.body.len() - end.len();
        assert!(asked.body.ends_with(end.as_bytes()), "the last boundary");
        let metadata: Value = serde_json::from_slice(&asked.body[first..first_end]).expect("JSON");
        let bytes = asked.body[second..second_end].to_vec();
        let key = metadata["name"].as_str().expect("a name").to_owned();
        if metadata["crc32c"] != checksum(&bytes) {
            return refusal(400, "invalid");
        }
        self.keep_object(&key, bytes, &metadata, asked)
    }

    fn keep_object(&mut self, key: &str, bytes: Vec<u8>, about: &Value, asked: &Asked) -> Answer {
        if !self.allows(key, asked) {
            return refusal(412, "conditionNotMet");
        }
        let writer = about.pointer("/metadata/dovetail-write").and_then(Value::as_str);
        self.store(key, bytes, writer.map(str::to_owned));
        document(&resource(key, &self.objects[key]))
    }

    fn compose(&mut self, key: &str, asked: &Asked) -> Answer {
        let wanted: Value = serde_json::from_slice(&asked.body).expect("JSON");
        let sources = wanted["sourceObjects"].as_array().expect("sources");
        assert!((1..=32).contains(&sources.len()), "{} sources", sources.len());
        let mut bytes = vec![];
        for source in sources {
            match self.objects.get(source["name"].as_str().expect("a name")) {
                Some(object) => bytes.extend_from_slice(&object.bytes),
                None => return refusal(404, "notFound"),
            }
        }
        self.keep_object(key, bytes, &wanted["destination"], asked)
    }

    fn page(&self, asked: &Asked) -> Answer {
        let query = |name: &str| asked.query.get(name).map_or("", String::as_str);
        let (prefix, delimiter, from) = (query("prefix"), query("delimiter"), query("pageToken"));
        let most: usize = query("maxResults").parse().expect("a number");
        let (mut items, mut prefixes, mut next) = (vec![], vec![], None);
        let mut last = String::new();
        for (key, object) in self.objects.iter().filter(|(key, _)| key.starts_with(prefix)) {
            let rest = &key[prefix.len()..];
            let group = Some(delimiter).filter(|delimiter| !delimiter.is_empty());
            let group = group.and_then(|delimiter| rest.find(delimiter));
            let name = group.map_or(key.as_str(), |at| &key[..prefix.len() + at + delimiter.len()]);
            if name <= from || name == last {
                continue;
            }
            if items.len() + prefixes.len() == most {
                next = Some(last);
                break;
            }
            last = name.to_owned();
            match group {
                Some(_) => prefixes.push(name.to_owned()),
                None => items.push(resource(key, object)),
            }
        }
        // What is empty is left out.
        let mut page = json!({ "kind": "storage#objects" });
        if !items.is_empty() {
            page["items"] = Value::Array(items);
        }
        if !prefixes.is_empty() {
            page["prefixes"] = json!(prefixes);
        }
        if let Some(next) = next {
            page["nextPageToken"] = Value::String(next);
        }
        document(&page)
    }
}

impl Server {
    /// Tags are generations from now on, as Google has them.
    pub fn of_google(self) -> Server {
        self.state.borrow_mut().has_generations = true;
        self
    }
}
