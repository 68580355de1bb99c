# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Six Reno flows of round-trip times 80 and 30 ms through a RED queue, in four phases: start-up, congested by a source of
# constant rate, recovery, and over-provisioned (the second flow stops). Fang and Peterson, section 4.1, scenario 1.
#
# ns red_phases.tcl -NAME VALUE ...    prints one line of JSON

set directory [file dirname [info script]]
source $directory/options.tcl
define_options {
    rate        8e6     {bottleneck, bit/s}
    delay       0.005   {bottleneck, s}
    access      100e6   {access links, bit/s}
    packet      1000    {bytes of data in a packet}
    header      40      {bytes of headers on top}
    ack         40      {bytes of an ACK}
    window      100000  {receiver's window in packets}
    minrto      0.2     {minimum retransmission time-out, s}
    tick        0.01    {granularity of round-trip times, s}
    timestamps  0       {1: a round-trip time from every ACK}
    minth       5       {RED: lower threshold in packets, 5 ms}
    maxth       10      {RED: upper threshold in packets, 10 ms}
    pmax        0.1     {RED: drop probability at the upper threshold}
    weight      0.002   {RED: weight of the moving average}
    gentle      false   {RED: gentle above the upper threshold}
    wait        true    {RED: none dropped within 1/p packets of the last drop, as is ns-2's default}
    limit       100     {RED: limit_ in packets}
    cbr         2e6     {constant rate in the second phase, bit/s on the wire}
    phase       25      {s of each phase}
    start       1       {flows start uniformly within so many seconds}
    seed        1       {of ns-2's random numbers}
}

set ns [new Simulator]
configure_tcp
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set thresh_ [option minth]
Queue/RED set maxthresh_ [option maxth]
Queue/RED set linterm_ [expr {1.0 / [option pmax]}]
Queue/RED set q_weight_ [option weight]
Queue/RED set gentle_ [option gentle]
Queue/RED set wait_ [option wait]
# While the queue is idle, packets of the size that there is drain.
Queue/RED set mean_pktsize_ [expr {[option packet] + [option header]}]

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right [option rate] [option delay] RED
$ns simplex-link $right $left [option rate] [option delay] DropTail
$ns queue-limit $left $right [option limit]
$ns queue-limit $right $left 100000

# The round-trip time is made by the source's link; the sink's takes 1 ms each way.
proc ends {rtt} {
    set delay [expr {$rtt / 2.0 - [option delay] - 0.001}]
    return [list [host $::left [option access] $delay] [host $::right [option access] 0.001]]
}

set flows {}
foreach rtt {0.08 0.08 0.08 0.03 0.03 0.03} {
    foreach {from to} [ends $rtt] {}
    lappend flows [connection Reno $from $to [expr {[option start] * [uniform]}]]
}
foreach {from to} [ends 0.08] {}
foreach {cbr cbr_sink} [constant_rate $from $to [option cbr] [expr {[option packet] + [option header]}]] {}

set marks {}
proc mark {} {
    set values {}
    foreach tcp $::flows { lappend values [expr {max(0, [$tcp set ack_]) * [option packet] * 8.0}] }
    lappend values [expr {[$::cbr_sink set bytes_] * 8.0}]
    lappend ::marks $values
}

proc report {} {
    mark
    set rows {}
    foreach before [lrange $::marks 0 end-1] after [lrange $::marks 1 end] {
        set row {}
        foreach a $before b $after { lappend row [format %.0f [expr {($b - $a) / [option phase]}]] }
        lappend rows "\[[join $row ,]\]"
    }
    puts [format {{"seed":%d,"phases_bps":[%s]}} [option seed] [join $rows ,]]
    exit 0
}

set phase [option phase]
$ns at 0 mark
$ns at $phase "mark; $cbr start"
$ns at [expr {2 * $phase}] "mark; $cbr stop"
# A stopped flow has no more to send: what is in flight still arrives.
$ns at [expr {3 * $phase}] "mark; [lindex $flows 1] advance 0"
$ns at [expr {4 * $phase}] report
$ns run
