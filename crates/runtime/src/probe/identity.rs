//! Which device a file is on, in words that another device would not have.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use super::file::file_system_name;
use super::queue::folder_of;

/// The device below a file and its file system, as `nvme0n1 (Samsung SSD 990 PRO), 1000204886016 bytes, xfs`;
/// where the kernel shows no device (memory, networks, layers of containers), the number by which it tells
/// file systems apart, as `device 0:40, tmpfs`. The name alone would not do: it goes by the order in which
/// devices were found. Blocks for some system calls.
///
/// # Errors
/// When the path cannot be looked at.
pub fn device_identity(path: impl AsRef<Path>) -> io::Result<String> {
    let path = fs::canonicalize(path)?;
    let number = fs::metadata(&path)?.dev();
    let file_system = file_system_name(&path)?;
    let device = match folder_of(&path, number) {
        Some(folder) => described(&folder),
        None => format!("device {}:{}", libc::major(number), libc::minor(number)),
    };
    Ok(format!("{device}, {file_system}"))
}

/// Name, model and size from the kernel's folder of a device.
fn described(folder: &Path) -> String {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let mut text_of = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(model) = text("device/model").filter(|model| !model.trim().is_empty()) {
        text_of += &format!(" ({})", model.trim());
    }
    // In sectors of 512 bytes, whatever those of the device are.
    if let Some(sectors) = text("size").and_then(|size| size.trim().parse::<u64>().ok()) {
        text_of += &format!(", {} bytes", sectors.saturating_mul(512));
    }
    text_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_told_by_its_name_its_model_and_its_size() {
        let folder = std::env::temp_dir().join(format!("dovetail-identity-{}", std::process::id()));
        let device = folder.join("nvme0n1");
        fs::create_dir_all(device.join("device")).unwrap();
        assert_eq!(described(&device), "nvme0n1");
        fs::write(device.join("device/model"), "Fast 990             \n").unwrap();
        fs::write(device.join("size"), "1000\n").unwrap();
        let found = described(&device);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, "nvme0n1 (Fast 990), 512000 bytes");
    }

    #[test]
    fn a_file_has_a_device_and_what_is_missing_has_none() {
        let program = std::env::current_exe().unwrap();
        let found = device_identity(&program).unwrap();
        assert!(found.contains(", "), "{found}");
        assert_eq!(found, device_identity(program.parent().unwrap()).unwrap(), "the same device");
        assert!(device_identity(program.join("missing")).is_err());
    }
}
