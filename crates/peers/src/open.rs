//! Opening shared libraries and taking functions out of them.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use std::path::Path;

/// A library that stays open as long as the process.
pub struct Open {
    library: &'static Library,
    file: String,
}

impl Open {
    /// Opens a library; with `global`, what is opened later sees its symbols.
    ///
    /// # Errors
    /// Why the system does not open it.
    pub fn at(path: &Path, global: bool) -> Result<Open, String> {
        let flags = RTLD_NOW | if global { RTLD_GLOBAL } else { RTLD_LOCAL };
        // SAFETY: the library's initialisers run in a worker, whose whole purpose is to run them;
        // what they break ends with it.
        let library = unsafe { Library::open(Some(path), flags) };
        let library = library.map_err(|error| format!("opening {}: {error}", path.display()))?;
        // Never closed: threads and handlers of a library outlive its last user.
        let library = Box::leak(Box::new(library));
        Ok(Open { library, file: path.display().to_string() })
    }

    /// A function or variable of the library.
    ///
    /// # Errors
    /// If the library has no such name.
    ///
    /// # Safety
    /// `T` is the type that the library's documentation gives for this name.
    pub unsafe fn get<T: Copy>(&self, name: &str) -> Result<T, String> {
        // SAFETY: the caller's promise.
        let symbol = unsafe { self.library.get::<T>(name.as_bytes()) };
        symbol.map(|symbol| *symbol).map_err(|_| format!("{} has no `{name}`", self.file))
    }
}
