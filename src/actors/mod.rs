//! The running parts, on actix. Each gathers facts, makes one synchronous call into a pure module, and acts.
