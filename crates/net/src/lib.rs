//! Linux: TUN devices, namespaces, policy routing, clock and poll loop.
