//! The operating system: devices, programs for its packet paths, sockets' options, namespaces,
//! processes, privileges, clock and poll loop. All `unsafe` of the workspace is here, each block
//! with its reason.

pub mod bpf;
pub mod clock;
pub mod command;
pub mod descriptor;
pub mod gro;
pub mod gso;
pub mod heap;
pub mod instance;
pub mod interface;
pub mod interface_lock;
pub mod internet_checksum;
pub mod kernel_version;
pub mod machine;
pub mod netns;
pub mod older;
pub mod output;
pub mod own_device;
pub mod packet;
pub mod poll;
pub mod privileges;
pub mod process_usage;
pub mod processor_times;
pub mod real_time;
pub mod receive_steering;
pub mod runtime_dir;
pub mod serve;
pub mod service_manager;
pub mod signals;
pub mod socket_option;
pub mod surroundings;
pub mod tcp_info;
pub mod transport_headers;
pub mod tun;
pub mod vnet_hdr;
