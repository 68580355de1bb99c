# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Options of the scripts beside this one: a script sets their defaults, the command line as -NAME VALUE.

proc define_options {table} {
    global options argv
    foreach {name value meaning} $table { set options($name) $value }
    foreach {name value} $argv {
        set name [string range $name 1 end]
        if {![info exists options($name)]} { error "no option -$name; there are: [lsort [array names options]]" }
        set options($name) $value
    }
}

proc option {name} { return $::options($name) }

# Uniform between 0 and 1, from the seeded generator of ns-2.
proc uniform {} { return [expr {[ns-random] / 2147483648.0}] }

# The options that the scripts set alike for all TCP agents; window_ is the receiver's window and the first slow start threshold.
proc configure_tcp {} {
    $::defaultRNG seed [option seed]
    Agent/TCP set packetSize_ [option packet]
    Agent/TCP set tcpip_base_hdr_size_ [option header]
    Agent/TCP set window_ [option window]
    Agent/TCP set minrto_ [option minrto]
    Agent/TCP set tcpTick_ [option tick]
    Agent/TCP set timestamps_ [option timestamps]
    Agent/TCP set ts_option_size_ 0
    Agent/TCPSink set packetSize_ [option ack]
}

# A host on a link of its own to a router. Only bottlenecks shall drop: the queues here are never full.
proc host {router rate delay} {
    global ns
    set node [$ns node]
    $ns duplex-link $node $router $rate $delay DropTail
    $ns queue-limit $node $router 100000
    $ns queue-limit $router $node 100000
    return $node
}

# A TCP agent of the control named, with a sink, and data without end from `start` on (none if it is negative).
proc connection {control from to start} {
    global ns
    set tcp [new Agent/TCP/$control]
    set sink [new [expr {$control eq "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
    # Vegas has an output of its own, which adds no headers.
    if {$control eq "Vegas"} { $tcp set packetSize_ [expr {[option packet] + [option header]}] }
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    if {$start >= 0} {
        set ftp [new Application/FTP]
        $ftp attach-agent $tcp
        $ns at $start "$ftp start"
    }
    return $tcp
}

# A UDP source of constant rate (bit/s on the wire), not started yet. ns-2 adds no headers to UDP.
proc constant_rate {from to rate size} {
    global ns
    set udp [new Agent/UDP]
    $udp set packetSize_ $size
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $size
    $cbr set rate_ $rate
    $cbr attach-agent $udp
    set sink [new Agent/LossMonitor]
    $ns attach-agent $from $udp
    $ns attach-agent $to $sink
    $ns connect $udp $sink
    return [list $cbr $sink]
}
