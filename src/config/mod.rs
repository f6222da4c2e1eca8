//! bouncer.yaml and client files with mcpServers: read, resolve variables, load.
