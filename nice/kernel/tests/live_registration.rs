// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registering and replacing congestion controls on the running kernel. Needs root, and fails while netnice is in use.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use alone::alone;
use libbpf_rs::{MapHandle, MapType};
use netnice_kernel::abi::Totals;
use netnice_kernel::attachment::Attacher;
use netnice_kernel::control::{Control, Registered};
use netnice_kernel::journal::Kind;
use netnice_kernel::pins::Pins;
use netnice_kernel::{connections, features};
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{getsockopt, setsockopt};

mod alone;

fn netnice() -> Control {
    Control::find("netnice").unwrap()
}

/// Opens a connection over loopback whose sender has the control.
fn connection(control: Control) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    setsockopt(&sender, TcpCongestion, &control.name().into()).unwrap();
    (sender, listener.accept().unwrap().0)
}

fn transfer(sender: &mut TcpStream, receiver: &mut TcpStream) {
    sender.write_all(&[7; 10_000]).unwrap();
    receiver.read_exact(&mut [0; 10_000]).unwrap();
}

/// The kernel unregisters a control some time after its pin has gone.
fn wait_until_unregistered(control: Control) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while control.is_registered() {
        let name = control.name();
        assert!(Instant::now() < deadline, "{name} is still registered");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pin(control: Control, pins: &Pins) -> PathBuf {
    pins.bpf()
        .join(format!("{}-{}", control.name(), control.version()))
}

/// Returns the id of the registered map of callbacks.
fn map_id(pin: &Path) -> u32 {
    let link = libbpf_rs::Link::open(pin).unwrap();
    match link.info().unwrap().info {
        libbpf_rs::query::LinkTypeInfo::StructOps(info) => info.map_id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn controls_are_there_for_as_long_as_somebody_has_a_share() {
    let _alone = alone();
    let first = Pins::open().unwrap();
    for control in Control::all() {
        wait_until_unregistered(control);
        assert_eq!(control.register(&first).unwrap(), Registered::New);
        assert_eq!(control.register(&first).unwrap(), Registered::Already);
        assert!(control.is_registered());
        let (mut sender, mut receiver) = connection(control);
        transfer(&mut sender, &mut receiver);
        let name = getsockopt(&sender, TcpCongestion).unwrap();
        assert_eq!(
            name.to_str().unwrap().trim_end_matches('\0'),
            control.name()
        );
    }
    let second = Pins::open().unwrap();
    assert!(!first.close().unwrap(), "there is another user");
    assert!(netnice().is_registered());
    assert!(second.close().unwrap());
    Control::all().for_each(wait_until_unregistered);
    assert!(!Path::new("/run/netnice").exists());
}

#[test]
fn a_name_is_held_while_a_link_or_a_map_registers_it() {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    wait_until_unregistered(netnice());
    assert!(!netnice().is_held());
    netnice().register(&pins).unwrap();
    assert!(netnice().is_held());
    assert!(!Control::find("tcplp").unwrap().is_held());
    drop(pins);
    wait_until_unregistered(netnice());
    assert!(!netnice().is_held());
}

/// Takes CAP_SYS_ADMIN from the calling thread until the thread ends (capabilities(7): they belong to threads).
fn drop_sys_admin() {
    const VERSION_3: u32 = 0x2008_0522;
    const CAP_SYS_ADMIN: u32 = 21;
    let mut header = [VERSION_3, 0];
    // Effective, permitted and inheritable: of capabilities 0 to 31, and of the rest.
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: header and sets have the size that version 3 asks for.
    unsafe {
        let (header, sets) = (header.as_mut_ptr(), sets.as_mut_ptr());
        assert_eq!(libc::syscall(libc::SYS_capget, header, sets), 0);
        (*sets)[0] &= !(1 << CAP_SYS_ADMIN);
        assert_eq!(libc::syscall(libc::SYS_capset, header, sets), 0);
    }
}

#[test]
fn a_name_is_held_where_links_may_not_be_listed() {
    let _alone = alone();
    let tcplp = Control::find("tcplp").unwrap();
    wait_until_unregistered(tcplp);
    assert!(!tcplp.is_held());
    let held = std::thread::spawn(move || {
        drop_sys_admin();
        tcplp.is_held()
    });
    assert!(held.join().unwrap());
}

#[test]
fn a_share_that_is_dropped_is_given_back() {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    netnice().register(&pins).unwrap();
    drop(pins);
    wait_until_unregistered(netnice());
    assert!(!Path::new("/run/netnice").exists());
}

#[test]
fn odd_files_among_the_records_do_not_stop_clearing() {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    let records = pins.home().join("cgroups");
    fs::create_dir(&records).unwrap();
    fs::create_dir(records.join("76")).unwrap();
    nix::unistd::mkfifo(&records.join("77"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/nowhere", records.join("78")).unwrap();
    let huge = fs::File::create(records.join("79")).unwrap();
    huge.set_len(3 << 30).unwrap();
    fs::write(records.join("80"), "made 80 /netnice-run-gone\n").unwrap();
    let known = netnice_kernel::journal::cgroups(pins.home(), Kind::Made);
    assert_eq!(known, [(80, "/netnice-run-gone".to_owned())]);
    assert!(pins.close().unwrap(), "the pins are cleared");
    assert!(!Path::new("/run/netnice").exists());
}

#[test]
fn a_link_in_the_place_of_our_directory_is_named() {
    let _alone = alone();
    std::os::unix::fs::symlink("/nowhere", "/run/netnice").unwrap();
    let answer = Pins::open();
    fs::remove_file("/run/netnice").unwrap();
    let error = answer.unwrap_err().to_string();
    assert!(error.contains("rm /run/netnice"), "{error}");
}

#[test]
fn what_is_installed_stays_without_a_user() {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    netnice().register(&pins).unwrap();
    pins.set_installed(true).unwrap();
    assert!(!pins.close().unwrap());
    assert!(netnice().is_registered());
    let pins = Pins::open().unwrap();
    pins.set_installed(false).unwrap();
    assert!(pins.close().unwrap());
    wait_until_unregistered(netnice());
}

#[test]
fn a_control_of_another_version_is_replaced_and_live_connections_keep_theirs() {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    netnice().register(&pins).unwrap();
    let (mut sender, mut receiver) = connection(netnice());
    transfer(&mut sender, &mut receiver);

    // To this version another program seems to have registered it.
    let current = pin(netnice(), &pins);
    let links = features::LINKS.is_there();
    let before = links.then(|| map_id(&current));
    fs::rename(&current, pins.bpf().join("netnice-0123456789abcdef")).unwrap();
    assert_eq!(netnice().register(&pins).unwrap(), Registered::Replaced);
    let controls = fs::read_dir(pins.bpf()).unwrap().flatten();
    let names = controls.map(|entry| entry.file_name().into_string().unwrap());
    let netnices: Vec<String> = names.filter(|name| name.starts_with("netnice-")).collect();
    assert_eq!(netnices, [format!("netnice-{}", netnice().version())]);
    if let Some(before) = before {
        assert_ne!(map_id(&current), before);
    }

    transfer(&mut sender, &mut receiver);
    let (mut new_sender, mut new_receiver) = connection(netnice());
    transfer(&mut new_sender, &mut new_receiver);
    let listed = connections::list().unwrap();
    let sent = |bytes| listed.iter().filter(|one| one.bytes_sent == bytes).count();
    assert_eq!((sent(20_000), sent(10_000)), (1, 1), "{listed:?}");
    drop((sender, receiver, new_sender, new_receiver));
    assert!(pins.close().unwrap());
}

#[test]
fn a_shared_map_of_another_version_is_replaced() {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    // Same sizes as netnice's, but different flags.
    let options = libbpf_rs::libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_rs::libbpf_sys::bpf_map_create_opts>() as _,
        map_flags: libbpf_rs::libbpf_sys::BPF_F_NO_PREALLOC,
        ..Default::default()
    };
    let (key, value) = (8, size_of::<Totals>() as u32);
    let mut other =
        MapHandle::create(MapType::Hash, Some("totals"), key, value, 4096, &options).unwrap();
    other.pin(pins.bpf().join("maps/totals")).unwrap();
    Attacher::open(&pins).unwrap();
    assert!(pins.close().unwrap());
}

#[test]
fn what_a_crash_has_left_half_done_is_done_again() {
    let _alone = alone();
    let pins = Pins::open().unwrap();
    // The state after a crash between loading and the last pin.
    fs::create_dir(pins.bpf().join("unfinished-attachment")).unwrap();
    fs::create_dir(pins.bpf().join("attachment-0123456789abcdef")).unwrap();
    Attacher::open(&pins).unwrap();
    let sets = fs::read_dir(pins.bpf()).unwrap().flatten();
    let names = sets.map(|entry| entry.file_name().into_string().unwrap());
    let found: Vec<String> = names.filter(|name| name.contains("attachment")).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(pins.close().unwrap());
}
