//! Small things that std lacks: no I/O, no globals.
