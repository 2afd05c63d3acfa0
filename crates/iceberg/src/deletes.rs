//! Which deletes count for which rows.

use std::collections::BTreeMap;

use crate::fault::Result;
use crate::manifest::{Content, DataFile};
use crate::metadata::TableMetadata;

/// The delete files of a snapshot.
#[derive(Debug, Default)]
pub struct Deletes {
    files: Vec<DataFile>,
    /// Those of each partition, by their numbers.
    of_partition: BTreeMap<(i32, Vec<u8>), Vec<usize>>,
    /// Those that count in all partitions.
    of_all: Vec<usize>,
}

impl Deletes {
    /// Sorts delete files by what they are about.
    ///
    /// # Errors
    /// Damaged for a partition spec that there is not.
    pub fn new(files: Vec<DataFile>, metadata: &TableMetadata) -> Result<Deletes> {
        let mut deletes = Deletes::default();
        for (number, file) in files.iter().enumerate() {
            let is_of_all = file.content == Content::EqualityDeletes
                && metadata.spec(file.spec_id)?.is_unpartitioned();
            match is_of_all {
                true => deletes.of_all.push(number),
                false => {
                    let (spec, key) = file.partition_key();
                    deletes.of_partition.entry((spec, key.to_vec())).or_default().push(number);
                }
            }
        }
        deletes.files = files;
        Ok(deletes)
    }

    /// The numbers of those that may delete rows of a data file.
    pub fn of(&self, data: &DataFile) -> Vec<usize> {
        let (spec, key) = data.partition_key();
        let own = self.of_partition.get(&(spec, key.to_vec()));
        let all = own.into_iter().flatten().chain(&self.of_all).copied();
        all.filter(|number| self.counts(&self.files[*number], data)).collect()
    }

    fn counts(&self, deletes: &DataFile, data: &DataFile) -> bool {
        match deletes.content {
            Content::Data => false,
            Content::PositionDeletes => {
                data.sequence_number <= deletes.sequence_number && deletes.may_refer_to(&data.path)
            }
            // Who writes new rows with the deletes of old ones does not mean the new ones.
            Content::EqualityDeletes => data.sequence_number < deletes.sequence_number,
        }
    }

    /// All of them, by their numbers.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }
}
