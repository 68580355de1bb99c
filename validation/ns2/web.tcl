# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Web traffic over a bottleneck, from servers on the left to clients on the right, alone or beside one FTP transfer.
#
# A session fetches page after page. Each object of a page has connections of its own: the client opens one by a
# handshake and sends its request over it; when that has arrived, the server sends the object at once, without a second
# handshake. ns-2's agents carry data one way only, so that these are two agents, which take the steps of one connection.
# The response time is from the client's SYN to the arrival of the object's last packet.
#
# ns web.tcl -NAME VALUE ...    prints one line of JSON

set directory [file dirname [info script]]
source $directory/options.tcl
define_options {
    sessions    4       {sessions, in turn on the clients}
    hosts       4       {clients, and as many servers}
    mean        5000    {mean size of an object, bytes: Pareto}
    shape       1.2     {its shape}
    max         1e6     {larger objects are cut to this, bytes}
    objects     10      {objects of a page}
    page        1.0     {mean time from the end of a page to the next request, s: exponential}
    object      0.001   {mean time between the requests of two objects of a page, s: exponential}
    request     300     {bytes of a request}
    ftp         {}      {control of the transfer beside: Reno, say; none if empty}
    rate        1.5e6   {bottleneck, bit/s}
    delay       0.02    {bottleneck, s}
    access      100e6   {access links, bit/s}
    accessdelay 0.002   {access links, s}
    limit       23      {limit_ of the bottleneck's drop-tail queues: one packet less waits beside the one in transmission}
    packet      1000    {bytes of data in a packet}
    header      40      {bytes of headers on top}
    ack         40      {bytes of an ACK}
    window      100000  {receiver's window in packets}
    iw          2       {initial window of the servers, packets}
    minrto      0.2     {minimum retransmission time-out, s}
    tick        0.01    {granularity of round-trip times, s}
    timestamps  0       {1: a round-trip time from every ACK}
    start       1       {sessions start uniformly within so many seconds}
    warmup      20      {s before measuring begins}
    seconds     400     {s at which the run ends}
    seed        1       {of ns-2's random numbers}
}

set ns [new Simulator]
configure_tcp

proc exponential {mean} { return [expr {-$mean * log(1 - [uniform])}] }
proc object_bytes {} {
    set shape [option shape]
    set bytes [expr {[option mean] * ($shape - 1) / $shape / pow(1 - [uniform], 1 / $shape)}]
    return [expr {ceil(min($bytes, [option max]))}]
}

set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right [option rate] [option delay] DropTail
$ns queue-limit $left $right [option limit]
$ns queue-limit $right $left [option limit]
for {set i 0} {$i < [option hosts]} {incr i} {
    lappend servers [host $left [option access] [option accessdelay]]
    lappend clients [host $right [option access] [option accessdelay]]
}

# Upper ends of the size classes in bytes.
set classes {1024 2048 4096 8192 16384 32768 1e18}
foreach class $classes { set number($class) 0; set sum($class) 0 }

proc measure {object began} {
    if {$began < [option warmup]} { return }
    foreach class $::classes {
        if {$object < $class} {
            incr ::number($class)
            set ::sum($class) [expr {$::sum($class) + [$::ns now] - $began}]
            return
        }
    }
}

# Waits at a sink for so many bytes, headers included, and then evaluates a command.
Class Application/Await -superclass Application
Application/Await instproc await {bytes command} {
    $self instvar left_ command_
    set left_ $bytes
    set command_ $command
}
Application/Await instproc recv {bytes} {
    $self instvar left_ command_
    if {$left_ <= 0} { return }
    if {[incr left_ -$bytes] <= 0} { uplevel #0 $command_ }
}

# An agent at `from` whose sink at `to` waits for bytes, and then evaluates a command, the agent its last word. A node is slow with many agents: those that have long been done
# are used again.
proc await {from to bytes command} {
    global ns idle
    if {[info exists idle($from,$to)] && [llength $idle($from,$to)] > 0} {
        foreach {tcp sink waiting} [lindex $idle($from,$to) end] {}
        set idle($from,$to) [lrange $idle($from,$to) 0 end-1]
    } else {
        set tcp [new Agent/TCP/Reno]
        set sink [new Agent/TCPSink]
        $ns attach-agent $from $tcp
        $ns attach-agent $to $sink
        $ns connect $tcp $sink
        set waiting [new Application/Await]
        $waiting attach-agent $sink
        # An application whose class has a recv is called for arrivals once it is started.
        $waiting start
    }
    $waiting await $bytes [concat $command $tcp]
    $ns at [expr {[$ns now] + 10}] [list release $from,$to $tcp $sink $waiting]
    return $tcp
}

proc release {ends tcp sink waiting} {
    global ns
    if {[$tcp set ack_] < [$tcp set maxseq_] || [$waiting set left_] > 0} {
        $ns at [expr {[$ns now] + 10}] [list release $ends $tcp $sink $waiting]
        return
    }
    $tcp reset
    $sink reset
    lappend ::idle($ends) [list $tcp $sink $waiting]
}

proc fetch {session client server} {
    # The request is one packet after the SYN, which is a header.
    set bytes [expr {2 * [option header] + [option request]}]
    set tcp [await $client $server $bytes [list respond $session $client $server [$::ns now]]]
    $tcp set packetSize_ [option request]
    $tcp advanceby 1
}

proc respond {session client server began request} {
    # As many packets as it takes, all alike, so that the object has its size to the byte.
    set object [object_bytes]
    set packets [expr {int(ceil($object / [option packet]))}]
    set size [expr {int(ceil($object / $packets))}]
    # ns-2 gives the first packet no header.
    set bytes [expr {$packets * ($size + [option header]) - [option header]}]
    set tcp [await $server $client $bytes [list received $session $object $began]]
    $tcp set packetSize_ $size
    $tcp set syn_ false
    $tcp set delay_growth_ false
    $tcp set windowInit_ [option iw]
    # A server has the round-trip time of the handshake, if nothing of it was lost.
    set rtt [expr {[$request set rtt_] * [option tick]}]
    $tcp set srtt_init_ $rtt
    $tcp set rttvar_init_ [expr {$rtt > 0 ? $rtt / 2 : 12}]
    $tcp set rtxcur_init_ [expr {$rtt > 0 ? max(3 * $rtt, [option minrto]) : 3.0}]
    $tcp reset
    $tcp advanceby $packets
}

proc received {session object began tcp} {
    measure $object $began
    if {[incr ::pending($session) -1] == 0} {
        $::ns at [expr {[$::ns now] + [exponential [option page]]}] "page $session"
    }
}

proc page {session} {
    set client [lindex $::clients [expr {$session % [option hosts]}]]
    set server [lindex $::servers [expr {int([uniform] * [option hosts])}]]
    set ::pending($session) [option objects]
    set when [$::ns now]
    for {set i 0} {$i < [option objects]} {incr i} {
        $::ns at $when "fetch $session $client $server"
        set when [expr {$when + [exponential [option object]]}]
    }
}

for {set session 0} {$session < [option sessions]} {incr session} {
    $ns at [exponential [option page]] "page $session"
}
set ftp ""
if {[option ftp] ne ""} {
    set from [host $left [option access] [option accessdelay]]
    set to [host $right [option access] [option accessdelay]]
    set ftp [connection [option ftp] $from $to [expr {[option start] * [uniform]}]]
}

proc transferred {} { return [expr {$::ftp eq "" ? 0 : [$::ftp set ack_] * [option packet] * 8.0}] }

set monitor [$ns monitor-queue $left $right ""]
$ns at [option warmup] {
    set departed [$monitor set bdepartures_]
    set dropped [$monitor set pdrops_]
    set arrived [$monitor set parrivals_]
    set before [transferred]
}
proc report {} {
    global number sum monitor
    set seconds [expr {[option seconds] - [option warmup]}]
    set rows {}
    foreach class $::classes {
        if {$number($class) == 0} { continue }
        lappend rows [format {{"below_bytes":%.0f,"objects":%d,"mean_response_s":%.5f}} \
            $class $number($class) [expr {$sum($class) / $number($class)}]]
    }
    puts [format {{"seed":%d,"link_bps":%.0f,"drop_share":%.5f,"ftp_goodput_bps":%.0f,"classes":[%s]}} [option seed] \
        [expr {([$monitor set bdepartures_] - $::departed) * 8.0 / $seconds}] \
        [expr {([$monitor set pdrops_] - $::dropped) / double(max(1, [$monitor set parrivals_] - $::arrived))}] \
        [expr {([transferred] - $::before) / $seconds}] [join $rows ,]]
    exit 0
}
$ns at [option seconds] report
$ns run
