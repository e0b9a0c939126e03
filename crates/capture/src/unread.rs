//! Names of layers that may hold TCP and are not read.

use std::fmt::{self, Display, Formatter};

/// A layer that may hold TCP and is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unread {
    /// A protocol of this name.
    Named(&'static str),
    /// A frame of this link type (LINKTYPE_…).
    Link(i32),
    /// The layer of this EtherType.
    EtherType(u16),
    /// The layer of this protocol number of IP.
    Protocol(u8),
    /// TCP whose header was cut off, or cannot be one.
    Header,
}

impl Display for Unread {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Unread::Named(name) => f.write_str(name),
            Unread::Link(link) => match link_name(link) {
                Some(name) => write!(f, "a frame of link type {name}"),
                None => write!(f, "a frame of link type {link}"),
            },
            Unread::EtherType(kind) => write!(f, "EtherType 0x{kind:04x}"),
            Unread::Protocol(number) => write!(f, "IP protocol {number}"),
            Unread::Header => f.write_str("TCP without a whole header"),
        }
    }
}

/// The name of a link type without its LINKTYPE_.
fn link_name(link: i32) -> Option<&'static str> {
    let mut words = LINK_NAMES.split_whitespace();
    while let (Some(number), Some(name)) = (words.next(), words.next()) {
        if number.parse() == Ok(link) {
            return Some(name);
        }
    }
    None
}

/// Link types that people meet (<https://www.tcpdump.org/linktypes.html>), the number first.
const LINK_NAMES: &str = "
    2 EXP_ETHERNET 3 AX25 4 PRONET 5 CHAOS 6 IEEE802_5 7 ARCNET_BSD 8 SLIP 10 FDDI
    99 SYMANTEC_FIREWALL 100 ATM_RFC1483 102 SLIP_BSDOS 103 PPP_BSDOS 105 IEEE802_11 106 ATM_CLIP
    107 FRELAY 109 ENC 110 LANE8023 111 HIPPI 112 HDLC 114 LTALK 115 ECONET 116 IPFILTER 117 PFLOG
    118 CISCO_IOS 119 IEEE802_11_PRISM 120 IEEE802_11_AIRONET 121 HHDLC 122 IP_OVER_FC 123 SUNATM
    127 IEEE802_11_RADIOTAP 128 TZSP 129 ARCNET_LINUX 130 JUNIPER_MLPPP 131 JUNIPER_MLFR
    132 JUNIPER_ES 133 JUNIPER_GGSN 134 JUNIPER_MFR 135 JUNIPER_ATM2 136 JUNIPER_SERVICES
    137 JUNIPER_ATM1 138 APPLE_IP_OVER_IEEE1394 139 MTP2_WITH_PHDR 140 MTP2 141 MTP3 142 SCCP
    143 DOCSIS 144 LINUX_IRDA 147 USER0 148 USER1 149 USER2 150 USER3 151 USER4 152 USER5 153 USER6
    154 USER7 155 USER8 156 USER9 157 USER10 158 USER11 159 USER12 160 USER13 161 USER14 162 USER15
    163 IEEE802_11_AVS 164 JUNIPER_MONITOR 165 BACNET_MS_TP 167 JUNIPER_PPPOE 168 JUNIPER_PPPOE_ATM
    169 GPRS_LLC 170 GPF_T 171 GPF_F 172 GCOM_T1E1 173 GCOM_SERIAL 174 JUNIPER_PIC_PEER 175 ERF_ETH
    176 ERF_POS 177 LINUX_LAPD 178 JUNIPER_ETHER 179 JUNIPER_PPP 180 JUNIPER_FRELAY
    181 JUNIPER_CHDLC 182 MFR 183 JUNIPER_VP 187 BLUETOOTH_HCI_H4 189 USB_LINUX 192 PPI
    194 JUNIPER_ISM 195 IEEE802_15_4_WITHFCS 197 ERF 200 JUNIPER_ST 201 BLUETOOTH_HCI_H4_WITH_PHDR
    203 LAPD 206 FRELAY_WITH_DIR 207 LAPB_WITH_DIR 215 IEEE802_15_4_NONASK_PHY 220 USB_LINUX_MMAPPED
    224 FC_2 225 FC_2_WITH_FRAME_DELIMS 226 IPNET 227 CAN_SOCKETCAN 230 IEEE802_15_4_NOFCS 231 DBUS
    232 JUNIPER_VS 233 JUNIPER_SRX_E2E 234 JUNIPER_FIBRECHANNEL 237 STANAG_5066_D_PDU
    238 JUNIPER_ATM_CEMIC 240 NETANALYZER 241 NETANALYZER_TRANSPARENT 242 IPOIB 243 MPEG_2_TS
    244 NG40 246 PFSYNC 247 INFINIBAND 248 SCTP 249 USBPCAP 251 BLUETOOTH_LE_LL
    252 WIRESHARK_UPPER_PDU 253 NETLINK 254 BLUETOOTH_LINUX_MONITOR 255 BLUETOOTH_BREDR_BB
    256 BLUETOOTH_LE_LL_WITH_PHDR 258 PKTAP 259 EPON 266 USB_DARWIN 270 LORATAP 271 VSOCK
    273 DOCSIS31_XRA31 274 ETHERNET_MPACKET 280 VPP_DISPATCH 283 IEEE802_15_4_TAP 289 ATSC_ALP
    290 ETW 291 NETANALYZER_NG";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name() {
        let names = [
            Unread::Named("CAPWAP"),
            Unread::Link(127),
            Unread::Link(9999),
            Unread::EtherType(0x1234),
            Unread::Protocol(99),
        ];
        let expected = "CAPWAP, a frame of link type IEEE802_11_RADIOTAP, a frame of link type 9999, \
                        EtherType 0x1234, IP protocol 99";
        assert_eq!(names.map(|name| name.to_string()).join(", "), expected);
        let words: Vec<&str> = LINK_NAMES.split_whitespace().collect();
        assert!(words.chunks(2).all(|pair| pair[0].parse::<i32>().is_ok() && pair.len() == 2));
        assert!(words.chunks(2).all(|pair| pair[1].parse::<i32>().is_err()));
    }
}
