# The flow of `bentpipe bench sim` for ns-2: SACK, 10 Mbit/s, 250 ms one way, packets of 1500 bytes, 420
# packets of queue, 600 s, an acknowledgment for each packet. Prints how many packets have arrived,
# acknowledgments included.
remove-all-packet-headers
add-packet-header IP TCP Flags
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 1000000
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
$ns duplex-link $a $b 10Mb 250ms DropTail
$ns queue-limit $a $b 420
$ns queue-limit $b $a 420
set source [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $a $source
$ns attach-agent $b $sink
$ns connect $source $sink
set ftp [new Application/FTP]
$ftp attach-agent $source
set there [$ns monitor-queue $a $b ""]
set back [$ns monitor-queue $b $a ""]
$ns at 0.0 "$ftp start"
$ns at 600.0 {
    puts [expr int([$there set pdepartures_] + [$back set pdepartures_])]
    exit 0
}
$ns run
