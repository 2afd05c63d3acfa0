//! The documents that stores answer with, and those they want.

use std::fmt::Write;

use crate::error::{Error, Result};
use crate::operation::{ListPage, ObjectInfo, Part};
use crate::{date, encode, xml};

fn unreadable(why: &str) -> Error {
    Error::protocol(format!("the store's document cannot be read: {why}"))
}

/// A page of ListObjectsV2.
pub(super) fn s3(text: &str) -> Result<ListPage> {
    let mut page = ListPage::default();
    let mut object = ObjectInfo::default();
    let (mut is_list, mut is_cut, mut next, mut is_encoded) = (false, false, None, false);
    let mut wrong = None;
    let walked = xml::walk(text, |path, text| match path {
        "ListBucketResult" => is_list = true,
        "ListBucketResult/IsTruncated" => is_cut = text.trim() == "true",
        "ListBucketResult/EncodingType" => is_encoded = text.trim() == "url",
        "ListBucketResult/NextContinuationToken" => next = Some(text),
        "ListBucketResult/CommonPrefixes/Prefix" => page.prefixes.push(text),
        "ListBucketResult/Contents/Key" => object.key = text,
        "ListBucketResult/Contents/ETag" => object.tag = Some(text),
        "ListBucketResult/Contents/Generation" => object.tag = Some(text),
        "ListBucketResult/Contents/LastModified" => object.modified_s = date::parse(&text),
        "ListBucketResult/Contents/Size" => match text.trim().parse() {
            Ok(size) => object.size = size,
            Err(_) => wrong = Some("a size is no number"),
        },
        "ListBucketResult/Contents" => page.objects.push(std::mem::take(&mut object)),
        _ => {}
    });
    walked.map_err(unreadable)?;
    if !is_list || is_cut && next.is_none() {
        wrong = Some("no list, or its next page is not named");
    }
    if let Some(wrong) = wrong {
        return Err(unreadable(wrong));
    }
    if is_encoded {
        decode(&mut page)?;
    }
    page.next = next.filter(|_| is_cut);
    Ok(page)
}

fn decode(page: &mut ListPage) -> Result<()> {
    let keys = page.objects.iter_mut().map(|object| &mut object.key);
    for name in keys.chain(&mut page.prefixes) {
        // Some servers encode a space the way of forms; a plus sign itself is always encoded.
        let plain = encode::unpercent(&name.replace('+', " "));
        *name = plain.ok_or_else(|| unreadable("a name is not encoded as it says"))?;
    }
    Ok(())
}

/// A page of List Blobs.
pub(super) fn azure(text: &str) -> Result<ListPage> {
    let mut page = ListPage::default();
    let mut object = ObjectInfo::default();
    let (mut is_list, mut wrong) = (false, None);
    let walked = xml::walk(text, |path, text| match path {
        "EnumerationResults" => is_list = true,
        "EnumerationResults/NextMarker" => page.next = Some(text).filter(|next| !next.is_empty()),
        "EnumerationResults/Blobs/BlobPrefix/Name" => page.prefixes.push(text),
        "EnumerationResults/Blobs/Blob/Name" => object.key = text,
        "EnumerationResults/Blobs/Blob/Properties/Etag" => object.tag = Some(quoted(text)),
        "EnumerationResults/Blobs/Blob/Properties/Last-Modified" => {
            object.modified_s = date::parse(&text);
        }
        "EnumerationResults/Blobs/Blob/Properties/Content-Length" => match text.trim().parse() {
            Ok(size) => object.size = size,
            Err(_) => wrong = Some("a size is no number"),
        },
        "EnumerationResults/Blobs/Blob" => page.objects.push(std::mem::take(&mut object)),
        _ => {}
    });
    walked.map_err(unreadable)?;
    match wrong.or((!is_list).then_some("no list")) {
        Some(wrong) => Err(unreadable(wrong)),
        None => Ok(page),
    }
}

/// The tag as headers have it: lists leave the quotes out.
fn quoted(tag: String) -> String {
    if tag.starts_with('"') { tag } else { format!("\"{tag}\"") }
}

/// The number of an upload.
pub(super) fn upload(text: &str) -> Result<String> {
    let mut id = None;
    let walked = xml::walk(text, |path, text| {
        if path == "InitiateMultipartUploadResult/UploadId" {
            id = Some(text);
        }
    });
    walked.map_err(unreadable)?;
    id.filter(|id| !id.is_empty()).ok_or_else(|| unreadable("an upload without a number"))
}

/// How an upload has ended.
pub(super) enum End {
    /// The object is there, and has this tag if one is told.
    Done(Option<String>),
    /// It is not; the document says why.
    Failed,
    /// The document says neither, or cannot be read to its end.
    Unknown,
}

/// What S3 says at the end of an upload.
pub(super) fn end_of_upload(document: &[u8]) -> End {
    let (mut end, mut tag) = (End::Unknown, None);
    let walked = std::str::from_utf8(document).map(|text| {
        xml::walk(text, |path, text| match path {
            "CompleteMultipartUploadResult/ETag" => tag = Some(text),
            "CompleteMultipartUploadResult" => end = End::Done(tag.take()),
            "Error" => end = End::Failed,
            _ => {}
        })
    });
    match walked {
        Ok(Ok(())) => end,
        _ => End::Unknown,
    }
}

/// All parts of an upload, for S3; with their checksums if they were sent with some.
pub(super) fn part_list(parts: &[Part], checksums: bool) -> String {
    let mut out = String::from("<CompleteMultipartUpload>");
    for Part { number, tag, crc32c } in parts {
        let tag = xml::escape(tag);
        // Writing to a string cannot fail.
        let _ = write!(out, "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag>");
        if checksums {
            let _ = write!(out, "<ChecksumCRC32C>{crc32c}</ChecksumCRC32C>");
        }
        out.push_str("</Part>");
    }
    out + "</CompleteMultipartUpload>"
}

/// All blocks of a blob, for Azure.
pub(super) fn block_list(parts: &[Part]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    for Part { tag, .. } in parts {
        let _ = write!(out, "<Latest>{}</Latest>", xml::escape(tag));
    }
    out + "</BlockList>"
}
