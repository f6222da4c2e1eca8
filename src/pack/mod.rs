//! Policy files and packs: YAML with positions, compiled to policy with every error collected, and their cases.
