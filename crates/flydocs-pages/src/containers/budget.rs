//! What all containers of one file may unpack to together.

use std::io::Read;

use bytes::Bytes;

use crate::{
    error::{Error, Result},
    options::{Limit, Options},
};

/// Deflate cannot do better than 1032-fold; documents stay far below this.
const BOMB_RATIO: u64 = 500;
/// Smaller members are never a bomb.
const BOMB_BYTES: u64 = 4 * 1024 * 1024;

/// Counts members, bytes and depth of one source; what is really unpacked, not what headers say.
#[derive(Debug)]
pub(crate) struct Budget {
    max_files: u64,
    max_bytes: u64,
    max_depth: u64,
    max_member: u64,
    files: u64,
    bytes: u64,
}

impl Budget {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            max_files: u64::from(options.max_expanded_files),
            max_bytes: options.max_expanded_bytes,
            max_depth: u64::from(options.max_depth),
            max_member: options.max_bytes,
            files: 0,
            bytes: 0,
        }
    }

    /// Enters a container at `depth` (the source itself is at 1).
    pub(crate) fn enter(&self, filename: &str, depth: u32) -> Result<()> {
        let depth = u64::from(depth);
        if depth > self.max_depth {
            return Err(Error::limit(filename, Limit::Depth, self.max_depth, depth));
        }
        Ok(())
    }

    /// Counts one more member.
    pub(crate) fn count(&mut self, filename: &str) -> Result<()> {
        self.files += 1;
        if self.files > self.max_files {
            return Err(Error::limit(
                filename,
                Limit::ExpandedFiles,
                self.max_files,
                self.files,
            ));
        }
        Ok(())
    }

    /// Takes bytes that were unpacked already.
    pub(crate) fn take(&mut self, filename: &str, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > self.max_bytes {
            return Err(Error::limit(
                filename,
                Limit::ExpandedBytes,
                self.max_bytes,
                self.bytes,
            ));
        }
        if bytes > self.max_member {
            return Err(Error::too_large(filename, self.max_member, bytes));
        }
        Ok(())
    }

    /// Unpacks a member whose packed size is `packed` (0 = unknown).
    pub(crate) fn read(
        &mut self,
        filename: &str,
        packed: u64,
        from: &mut dyn Read,
    ) -> std::result::Result<Bytes, ReadFault> {
        let over = |allowed, seen| {
            ReadFault::Limit(Box::new(Error::limit(
                filename,
                Limit::ExpandedBytes,
                allowed,
                seen,
            )))
        };
        let mut content = Vec::new();
        let mut piece = vec![0; 64 * 1024];
        loop {
            let got = match from.read(&mut piece) {
                Ok(0) => break,
                Ok(got) => got,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(ReadFault::Data(e)),
            };
            content.extend_from_slice(&piece[..got]);
            let size = content.len() as u64;
            let left = self.max_bytes.saturating_sub(self.bytes);
            if size > left {
                return Err(over(self.max_bytes, self.bytes + size));
            }
            if packed > 0 && size >= BOMB_BYTES && size / packed > BOMB_RATIO {
                return Err(over(packed * BOMB_RATIO, size));
            }
        }
        self.take(filename, content.len() as u64)
            .map_err(|error| ReadFault::Limit(Box::new(error)))?;
        Ok(content.into())
    }
}

/// Why a member could not be unpacked.
#[derive(Debug)]
pub(crate) enum ReadFault {
    Limit(Box<Error>),
    Data(std::io::Error),
}
