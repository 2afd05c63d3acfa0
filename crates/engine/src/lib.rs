//! The embeddable database: catalog, sessions, sources.
