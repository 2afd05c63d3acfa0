//! Pages: buffer pool, B+tree, free space, checkpoint.
