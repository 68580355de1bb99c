# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Flows over one bottleneck, each between hosts of its own:
#
#   source --- access --- left --- bottleneck --- right --- access --- sink
#
# ns dumbbell.tcl -NAME VALUE ...    prints one line of JSON

set directory [file dirname [info script]]
source $directory/options.tcl
define_options {
    forward     Reno    {flows from left to right, one of each control, by commas: Reno, Newreno, Sack1, Vegas}
    count       1       {so many of each}
    reverse     0       {flows from right to left}
    back        Reno    {their control}
    rate        10e6    {bottleneck, bit/s}
    delay       0.02    {bottleneck, s}
    access      100e6   {access links, bit/s}
    accessdelay 0.002   {access links, s}
    step        0       {propagation, s, of each further sender's access link on top: round-trip times that differ}
    limit       150     {limit_ of the bottleneck's drop-tail queues: one packet less waits beside the one in transmission}
    red         {}      {RED with gentle_ instead of drop-tail from left to right: min_th and max_th in packets, by a comma}
    drr         0       {deficit round robin among flows instead of drop-tail from left to right: bytes that its queue holds}
    jitter      0       {random delay on the access links, uniform up to so many s; packets may overtake each other}
    loss        0       {share of the packets from left to right that are lost at random, before the queue}
    lost        {}      {numbers of the packets lost there, from 1 in the order of arrival, by commas}
    packet      1000    {bytes of data in a packet}
    header      40      {bytes of headers on top}
    ack         40      {bytes of an ACK}
    window      100000  {receiver's window in packets}
    minrto      0.2     {minimum retransmission time-out, s}
    tick        0.01    {granularity of round-trip times, s}
    timestamps  0       {1: a round-trip time from every ACK}
    start       1       {flows start uniformly within so many seconds}
    period      0       {UDP square wave, on and off for half of this, s; 0 is none}
    peak        0       {rate of the square wave while on, bit/s on the wire}
    warmup      20      {s before measuring begins; as long as the run: no measuring at all}
    seconds     200     {s at which the run ends}
    seed        1       {of ns-2's random numbers}
    sample      0.01    {s between samples of windows and the queue; 0: none, and goodput is all that is printed}
    trace       {}      {file for time, cwnd and ssthresh of the first flow, every 10 ms}
    series      {}      {file for time, queue and cwnd of all flows, every 100 ms}
    packets     {}      {file for ns-2's trace of the packets on the bottleneck from left to right}
    events      {}      {file for ns-2's trace of the packets on the first sender's access link}
    set         {}      {more settings of the TCP agents, as "partial_ack_ 1 bugFix_ 0"}
}

set ns [new Simulator]
configure_tcp
foreach {name value} [option set] { Agent/TCP set $name $value }
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set q_weight_ 0.002
# While the queue is idle, packets of the size that there is drain.
Queue/RED set mean_pktsize_ [expr {[option packet] + [option header]}]
if {[option red] ne ""} {
    foreach {thresh maxthresh} [split [option red] ,] {}
    Queue/RED set thresh_ $thresh
    Queue/RED set maxthresh_ $maxthresh
}

Queue/DRR set buckets_ 1024
Queue/DRR set quantum_ 1500
Queue/DRR set blimit_ [option drr]
DelayModel set debug_ false

set left [$ns node]
set right [$ns node]
set discipline [expr {[option red] ne "" ? "RED" : [option drr] > 0 ? "DRR" : "DropTail"}]
$ns simplex-link $left $right [option rate] [option delay] $discipline
$ns simplex-link $right $left [option rate] [option delay] DropTail
$ns queue-limit $left $right [option limit]
$ns queue-limit $right $left [option limit]
if {[option loss] > 0} {
    set losses [new ErrorModel]
    $losses unit packet
    $losses set rate_ [option loss]
} elseif {[option lost] ne ""} {
    set losses [new ErrorModel/List]
    $losses unit packet
    # It counts from 0.
    foreach number [split [option lost] ,] { lappend numbers [expr {$number - 1}] }
    $losses droplist $numbers
}
if {[info exists losses]} {
    $losses drop-target [new Agent/Null]
    $ns lossmodel $losses $left $right
}

if {[option packets] ne ""} { $ns trace-queue $left $right [open [option packets] w] }

if {[option jitter] > 0} {
    set jitter [new RandomVariable/Uniform]
    $jitter set min_ 0
    $jitter set max_ [option jitter]
}
# Packets are delayed behind the propagation.
proc add_jitter {from to} {
    set model [new DelayModel]
    $model ranvar $::jitter
    $model bandwidth 1e15
    set link [[$::ns link $from $to] link]
    $model target [$link target]
    $link target $model
}

proc far_host {router {further 0}} {
    set node [host $router [option access] [expr {[option accessdelay] + $further}]]
    if {[option jitter] > 0} {
        add_jitter $node $router
        add_jitter $router $node
    }
    return $node
}

set flows {}
foreach control [split [option forward] ,] {
    for {set i 0} {$i < [option count]} {incr i} {
        set start [expr {[option start] * [uniform]}]
        set from [far_host $left [expr {$i * [option step]}]]
        if {[option events] ne "" && $flows eq ""} { $ns trace-queue $from $left [open [option events] w] }
        lappend flows $control [connection $control $from [far_host $right] $start]
    }
}
for {set i 0} {$i < [option reverse]} {incr i} {
    set start [expr {[option start] * [uniform]}]
    lappend flows reverse [connection [option back] [far_host $right] [far_host $left] $start]
}
if {[option period] > 0} {
    set size [expr {[option packet] + [option header]}]
    set cbr [lindex [constant_rate [far_host $left] [far_host $right] [option peak] $size] 0]
    set half [expr {[option period] / 2.0}]
    for {set t [expr {[option period] * [uniform]}]} {$t < [option seconds]} {set t [expr {$t + [option period]}]} {
        $ns at $t "$cbr start"
        $ns at [expr {$t + $half}] "$cbr stop"
    }
}

proc counters {} {
    set values {}
    foreach {name tcp} $::flows {
        lappend values [$tcp set ack_] [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_]
    }
    return $values
}

# Windows and the queue, a hundred times a second.
set samples 0
set queue_sum 0
foreach {name tcp} $flows { set cwnd_sum($tcp) 0 }
proc sample {} {
    global ns samples queue_sum cwnd_sum
    incr samples
    foreach {name tcp} $::flows { set cwnd_sum($tcp) [expr {$cwnd_sum($tcp) + [$tcp set cwnd_]}] }
    set queue_sum [expr {$queue_sum + [$::monitor set pkts_]}]
    $ns at [expr {[$ns now] + 0.01}] sample
}

proc report {} {
    set seconds [expr {[option seconds] - [option warmup]}]
    set rows {}
    set arrived [expr {[$::monitor set parrivals_] - $::arrived_0}]
    set dropped [expr {[$::monitor set pdrops_] - $::dropped_0}]
    foreach {name tcp} $::flows {acked_0 sent_0 again_0 timeouts_0} $::before {acked sent again timeouts} [counters] {
        set goodput [expr {($acked - $acked_0) * [option packet] * 8.0 / $seconds}]
        lappend rows [format {{"flow":"%s","goodput_bps":%.0f,"sent":%d,"retransmitted":%d,"timeouts":%d,"mean_cwnd":%.3f}} \
            $name $goodput [expr {$sent - $sent_0}] [expr {$again - $again_0}] \
            [expr {$timeouts - $timeouts_0}] [expr {$::cwnd_sum($tcp) / $::samples}]]
    }
    puts [format {{"seed":%d,"mean_queue_packets":%.3f,"drop_share":%.6f,"flows":[%s]}} \
        [option seed] [expr {$::queue_sum / double($::samples)}] [expr {$dropped / double($arrived)}] [join $rows ,]]
    exit 0
}

if {[option trace] ne ""} {
    set traced [open [option trace] w]
    proc watch {} {
        set tcp [lindex $::flows 1]
        puts $::traced "[$::ns now] [$tcp set cwnd_] [$tcp set ssthresh_]"
        $::ns at [expr {[$::ns now] + 0.01}] watch
    }
    $ns at 0 watch
}
if {[option series] ne ""} {
    set series [open [option series] w]
    set series_monitor [$ns monitor-queue $left $right ""]
    proc write_series {} {
        set row "[$::ns now] [$::series_monitor set pkts_]"
        foreach {name tcp} $::flows { append row " [$tcp set cwnd_]" }
        puts $::series $row
        $::ns at [expr {[$::ns now] + 0.1}] write_series
    }
    $ns at 0 write_series
}
# Of the flows from left to right, all together.
proc acknowledged {} {
    set packets 0
    foreach {name tcp} $::flows { if {$name ne "reverse"} { incr packets [$tcp set ack_] } }
    return $packets
}
if {[option sample] == 0} {
    $ns at [option warmup] { set acked_0 [acknowledged] }
    $ns at [option seconds] {
        set bits [expr {([acknowledged] - $acked_0) * [option packet] * 8.0}]
        puts [format {{"seed":%d,"goodput_bps":%.0f}} [option seed] [expr {$bits / ([option seconds] - [option warmup])}]]
        exit 0
    }
} elseif {[option warmup] < [option seconds]} {
    set monitor [$ns monitor-queue $left $right ""]
    $ns at [option warmup] {
        set before [counters]
        set arrived_0 [$monitor set parrivals_]
        set dropped_0 [$monitor set pdrops_]
        sample
    }
    $ns at [option seconds] report
} else {
    $ns at [option seconds] {exit 0}
}
$ns run
