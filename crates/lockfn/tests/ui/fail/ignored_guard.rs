#![deny(unused_must_use)]

fn main() -> Result<(), lockfn::LockError> {
    let lock = lockfn::LockFile::at("/tmp/x.lock");
    lock.lock()?;
    lock.try_lock();
    Ok(())
}
