import CSystem
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

/// The C functions, tested by the state of the kernel: the sign of an error, the mode of a file, the clients of a
/// socket.
@Suite(.timeLimit(.minutes(1)), .serialized) struct SystemCallTests {
    /// A temporary folder for a test.
    private final class Folder {
        let path = "/tmp/ocelli-calls-\(getpid())-\(UInt32.random(in: 0 ... .max))"

        init() throws { try #require(mkdir(path, 0o700) == 0) }

        deinit {
            for name in ["socket", "file"] { unlink(path + "/" + name) }
            rmdir(path)
        }
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    private func text(_ address: csys_address) -> String {
        var address = address
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = bytes.withUnsafeMutableBytes {
            csys_address_format(&address, $0.bindMemory(to: CChar.self).baseAddress, Int32($0.count))
        }
        return String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
    }

    private func local(_ descriptor: Int32) -> csys_address {
        var address = csys_address()
        _ = csys_local_address(descriptor, &address)
        return address
    }

    @Test("the instruction set bits of the processor agree with the check for VNNI")
    func theNumberOfTheProcessorSaysWhatItHas() {
        #if arch(x86_64)
            let has = { (bit: UInt64) in csys_instructions() >> bit & 1 == 1 }
            #expect((has(7) && has(8) || has(11)) == (csys_has_vnni() == 1) && has(0))
        #endif
        #expect(csys_instructions() == csys_instructions())
    }

    // MARK: Sockets

    @Test("a Unix socket file has the requested mode, and its path can be bound only once")
    func aSocketFileIsNeverWiderThanAskedFor() throws {
        let folder = try Folder()
        let path = folder.path + "/socket"
        let before = umask(0)
        defer { umask(before) }
        let descriptor = csys_listen_unix(path, 0o620, 8)
        try #require(descriptor >= 0)
        defer { csys_close(descriptor) }
        #expect(mode(path) == 0o620 && csys_unix_probe(path) == 0 && csys_is_listening(descriptor) == 1)
        #expect(text(local(descriptor)) == "unix:" + path)
        #expect(csys_listen_unix(path, 0o600, 8) == -EADDRINUSE)
    }

    @Test("a socket file without a listening process is distinguished from a busy socket")
    func aSocketFileThatNobodyListensOnIsToldFromABusyOne() throws {
        let folder = try Folder()
        let path = folder.path + "/socket"
        let descriptor = csys_listen_unix(path, 0o600, 0)
        try #require(descriptor >= 0)
        var server = csys_address()
        #expect(csys_find_unix_server(path, &server) == 0)
        // No process accepts: the backlog is full after one or two connections.
        let clients = (0..<4).map { _ in csys_connect(&server) }
        #expect(clients.contains(-EAGAIN))
        #expect(csys_unix_probe(path) == 0, "a process listens")
        for client in clients where client >= 0 { csys_close(client) }
        csys_close(descriptor)
        #expect(csys_unix_probe(path) == -ECONNREFUSED && csys_unix_probe(path + "x") == -ENOENT)
    }

    @Test(
        "a Unix socket path may have 1 to 107 bytes",
        arguments: [(107, true), (108, false), (109, false), (0, false)])
    func aPathHasTheRoomThatTheKernelGivesIt(length: Int, fits: Bool) {
        let path = String(repeating: "/", count: length)
        #expect((csys_unix_probe(path) == -ENAMETOOLONG) == !fits)
        #expect((csys_listen_unix(path, 0o600, 1) == -ENAMETOOLONG) == !fits)
    }

    @Test("new sockets, datagram sockets and files are not taken for listening sockets")
    func onlyAListeningStreamSocketListens() throws {
        let fresh = csys_socket(AF_INET)
        let datagrams = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        let file = csys_open_reserve()
        defer { for descriptor in [fresh, datagrams, file] { csys_close(descriptor) } }
        #expect(csys_is_listening(fresh) == 0 && csys_is_listening(datagrams) == 0)
        #expect(csys_is_listening(file) == -ENOTSOCK)
    }

    @Test("a TCP address is shared by listeners of one process, and otherwise bound only once")
    func anAddressIsTakenOnceWhateverItIsSharedWith() throws {
        let first = csys_listen_tcp("127.0.0.1", 0, 8, CSYS_SHARING_FIRST)
        try #require(first >= 0)
        let address = local(first)
        let port = try #require(UInt16(text(address).split(separator: ":").last ?? ""))
        #expect(text(address) == "127.0.0.1:\(port)")
        var addressCopy = address
        #expect(csys_address_is_loopback(&addressCopy))
        // A further socket of this process joins; the first one of another process cannot.
        let next = csys_listen_tcp("127.0.0.1", port, 8, CSYS_SHARING_NEXT)
        #expect(next >= 0)
        #expect(csys_listen_tcp("127.0.0.1", port, 8, CSYS_SHARING_FIRST) == -EADDRINUSE)
        #expect(csys_listen_tcp("127.0.0.1", port, 8, CSYS_SHARING_NONE) == -EADDRINUSE)
        for descriptor in [first, next] { csys_close(descriptor) }
        #expect(csys_listen_tcp("no.such.host.invalid", 0, 8, CSYS_SHARING_NONE) == -ENOENT)
    }

    @Test("a listener on every address accepts IPv4 connections as well")
    func everyAddressIsIPv4Too() throws {
        let listener = csys_listen_tcp(nil, 0, 8, CSYS_SHARING_NONE)
        try #require(listener >= 0)
        defer { csys_close(listener) }
        let port = try #require(UInt16(text(local(listener)).split(separator: ":").last ?? ""))
        var server = csys_address()
        #expect(csys_find_server("127.0.0.1", port, 2000, &server) == 0)
        #expect(csys_wait_readable(listener, 2000) == 1)
        var client = csys_address()
        let accepted = csys_accept(listener, &client)
        try #require(accepted >= 0)
        #expect(text(client).hasPrefix("127.0.0.1:") && csys_address_is_loopback(&client), "\(text(client))")
        csys_close(accepted)
    }

    @Test(
        "loopback addresses are those of 127.0.0.0/8 and ::1, also as mapped IPv6 addresses",
        arguments: [
            ("127.0.0.1", true), ("127.255.0.9", true), ("126.0.0.1", false), ("10.0.0.127", false), ("::1", true),
            ("::ffff:127.3.0.1", true), ("::ffff:10.0.0.1", false), ("::2", false), ("fe80::7f00:1", false),
        ])
    func loopbackIsThisHostAlone(host: String, expected: Bool) {
        var address = csys_address()
        withUnsafeMutablePointer(to: &address.storage) { storage in
            if host.contains(":") {
                storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    $0.pointee.sin6_family = sa_family_t(AF_INET6)
                    inet_pton(AF_INET6, host, &$0.pointee.sin6_addr)
                }
            } else {
                storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    $0.pointee.sin_family = sa_family_t(AF_INET)
                    inet_pton(AF_INET, host, &$0.pointee.sin_addr)
                }
            }
        }
        #expect(csys_address_is_loopback(&address) == expected)
        let mapped = host.hasPrefix("::ffff:") ? String(host.dropFirst(7)) : nil
        #expect(text(address) == (mapped ?? (host.contains(":") ? "[\(host)]" : host)) + ":0")
    }

    @Test("unread bytes are discarded on Unix and TCP sockets")
    func bytesAreThrownAwayOnSocketsOfAnyFamily() throws {
        for family in [AF_UNIX, AF_INET] {
            let (one, other) = try pair(family)
            defer { for descriptor in [one, other] { csys_close(descriptor) } }
            let bytes = [UInt8](repeating: 7, count: 5000)
            #expect(csys_send(one, bytes, 5000) == 5000)
            _ = csys_wait_readable(other, 2000)
            #expect(csys_unread(other) == 5000)
            #expect(csys_discard(other, 3000) == 3000, "\(family)")
            var rest = [UInt8](repeating: 0, count: 5000)
            #expect(csys_receive(other, &rest, 5000) == 2000 && csys_receive(other, &rest, 1) == -Int(EAGAIN))
            #expect(csys_discard(other, 1) == -Int(EAGAIN))
        }
    }

    @Test("stopping handshakes keeps new connections out, and existing connections go on")
    func newConnectionsAreKeptOutAndBegunOnesAreNot() throws {
        let listener = csys_listen_tcp("127.0.0.1", 0, 8, CSYS_SHARING_NONE)
        try #require(listener >= 0)
        defer { csys_close(listener) }
        var server = local(listener)
        let early = csys_connect(&server)
        defer { csys_close(early) }
        #expect(csys_wait_readable(listener, 2000) == 1 && csys_stop_handshakes(listener) == 0)
        var client = csys_address()
        let accepted = csys_accept(listener, &client)
        defer { csys_close(accepted) }
        // Segments of an established connection pass: they have ACK.
        #expect(accepted >= 0 && csys_send(early, "x", 1) == 1 && csys_wait_readable(accepted, 2000) == 1)
        let late = csys_connect(&server)
        defer { csys_close(late) }
        #expect(csys_wait_readable(listener, 200) == 0)
    }

    private func pair(_ family: Int32) throws -> (Int32, Int32) {
        if family == AF_UNIX {
            var ends: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            for end in ends { try #require(csys_set_nonblocking_cloexec(end) == 0) }
            return (ends[0], ends[1])
        }
        let listener = csys_listen_tcp("127.0.0.1", 0, 8, CSYS_SHARING_NONE)
        try #require(listener >= 0)
        defer { csys_close(listener) }
        var server = local(listener), client = csys_address()
        let one = csys_connect(&server)
        _ = csys_wait_readable(listener, 2000)
        return (one, csys_accept(listener, &client))
    }

    // MARK: Files, memory, time

    @Test("changing a file's owner refuses numbers out of range and unknown names")
    func anOwnerIsANumberThatExists() throws {
        let folder = try Folder()
        let path = folder.path + "/file"
        close(creat(path, 0o600))
        #expect(csys_chown(path, "\(getuid()):\(getgid())") == 0 && csys_chown(path, ":\(getgid())") == 0)
        // The highest number would leave the owner unchanged, and report success.
        for owner in ["4294967295", ":4294967295", "4294967296", "99999999999999999999", "0x0", "-1", "no such user"] {
            #expect(csys_chown(path, owner) == -ENOENT, "\(owner)")
        }
        #expect(csys_chown(path, String(repeating: "a", count: 64)) == -EINVAL)
    }

    @Test("memory for pictures and pixels can neither shrink nor grow, and a picture cannot be written to")
    func sharedMemoryIsSealed() throws {
        let bytes: [UInt8] = [1, 2, 3]
        let picture = csys_memory_copy(bytes, bytes.count), pixels = csys_memory_file(4096)
        defer { for descriptor in [picture, pixels] { close(descriptor) } }
        try #require(picture >= 0 && pixels >= 0)
        for descriptor in [picture, pixels] {
            for length in [0, 1 << 20] {
                let result = ftruncate(descriptor, length), problem = errno
                #expect(result == -1 && problem == EPERM, "\(descriptor == picture), \(length)")
            }
        }
        #expect(pwrite(pixels, bytes, 1, 0) == 1)
        #expect(pwrite(picture, bytes, 1, 0) == -1)
    }

    @Test("remapped memory keeps its contents and is marked to have no huge pages")
    func memoryMovesWithItsContentsAndHasNoHugePages() throws {
        let size = 8 << 20
        let base = try #require(csys_map(size))
        base.storeBytes(of: 7, as: UInt8.self)
        let moved = try #require(csys_remap(base, size, 2 * size))
        defer { csys_unmap(moved, 2 * size) }
        #expect(moved.load(as: UInt8.self) == 7)
        // Read in pieces up to the end: a file without a size is otherwise read in part.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
        let maps = String(decoding: file.readDataToEndOfFile(), as: UTF8.self)
        let place = UInt(bitPattern: moved)
        // The kernel may have merged the mapping with its neighbors.
        let lines = maps.components(separatedBy: "\n").drop { line in
            let ends = line.prefix { $0 != " " }.split(separator: "-").map { UInt($0, radix: 16) ?? 0 }
            return ends.count != 2 || !(ends[0]..<max(ends[0], ends[1])).contains(place)
        }
        let flags = lines.first { $0.hasPrefix("VmFlags:") }
        // "nh": the kernel was told. A kernel without huge pages ignores it.
        guard access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0 else { return }
        #expect(flags?.contains(" nh") == true, "\(flags ?? "no mapping")")
    }

    @Test("a timer set to a past time fires at once, and a timer set to 0 does not fire")
    func aTimerGoesOffAtItsTimeAndNotAfterIt() throws {
        let timer = csys_timerfd()
        defer { csys_close(timer) }
        // A past time fires at once; as a duration, it would be the time since the machine was started.
        #expect(csys_timerfd_set(timer, csys_monotonic() - 1_000_000) == 0)
        #expect(csys_wait_readable(timer, 500) == 1)
        #expect(csys_timerfd_set(timer, 0) == 0 && csys_wait_readable(timer, 10) == 0)
        #expect(Set((0..<100).map { _ in csys_random() }).count == 100)
    }

    // MARK: Threads and processes

    @Test("a system thread blocks signals such as SIGTERM, but not the faults of its own code")
    func aThreadsOwnFaultsAreNotBlocked() async throws {
        let blocked = Guarded<[Int32]?>(nil)
        try SystemThread.start("faults") {
            var mask = sigset_t()
            pthread_sigmask(SIG_SETMASK, nil, &mask)
            blocked.withLock { $0 = (1..<32).filter { sigismember(&mask, Int32($0)) == 1 }.map(Int32.init) }
        }
        while !Task.isCancelled, blocked.withLock({ $0 == nil }) { try await Task.sleep(for: .milliseconds(1)) }
        let found = blocked.withLock { $0 ?? [] }
        #expect(found.contains(SIGTERM) && found.contains(SIGCHLD))
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT] { #expect(!found.contains(fault), "\(fault)") }
    }

    /// Runs a program as a child; returns its output, and how it ended.
    private func run(_ words: String...) throws -> (text: String, signal: Int32, status: Int32) {
        var arguments = words.map { strdup($0) as UnsafeMutablePointer<CChar>? } + [nil]
        defer { for argument in arguments { free(argument) } }
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        var output: Int32 = -1
        let pid = csys_spawn(words[0], &arguments, &environment, &output)
        try #require(pid > 0)
        defer { csys_close(output) }
        var text: [UInt8] = [], piece = [UInt8](repeating: 0, count: 4096)
        while case let count = csys_read(output, &piece, piece.count), count > 0 { text += piece.prefix(count) }
        var signal: Int32 = -1, status: Int32 = -1
        #expect(csys_wait_child(pid, &signal, &status) == 0)
        return (String(decoding: text, as: UTF8.self), signal, status)
    }

    @Test("a child process has no blocked signals and its own group, and its end is reported")
    func aChildHasNeitherSignalsBlockedNorATerminalAndItsEndIsTold() throws {
        let blocked: [Int32] = [SIGUSR1, SIGALRM]
        #expect(csys_signals_block(blocked, 2) == 0)
        defer { _ = csys_signals_unblock(blocked, 2) }
        // Not a shell, which would unblock the signals itself.
        let mask = try run("/bin/grep", "SigBlk", "/proc/self/status")
        #expect(mask.text == "SigBlk:\t0000000000000000\n", "\(mask.text)")
        let ended = try run("/bin/sh", "-c", "echo one; echo two >&2; exit 3")
        #expect(ended.text == "one\ntwo\n" && ended.status == 3 && ended.signal == 0)
        let killed = try run("/bin/sh", "-c", "kill -USR1 $$; sleep 10")
        #expect(killed.signal == SIGUSR1 && killed.status == 0)
        let group = try run("/bin/sh", "-c", "cut -d' ' -f5 /proc/$$/stat; echo $$").text.split(separator: "\n")
        #expect(group.count == 2 && group[0] == group[1], "a group of its own")
        #expect(csys_kill_group(1) == 0 && csys_kill_group(0) == 0 && csys_kill_group(-1) == 0, "never everybody")
    }

    @Test("a blocked signal is read once from its descriptor")
    func signalsAreReadFromTheirDescriptor() throws {
        let signals: [Int32] = [SIGUSR2]
        #expect(csys_signals_block(signals, 1) == 0)
        defer { _ = csys_signals_unblock(signals, 1) }
        let descriptor = csys_signalfd(signals, 1, true)
        try #require(descriptor >= 0)
        defer { csys_close(descriptor) }
        #expect(csys_signalfd_read(descriptor) == -EAGAIN)
        pthread_kill(pthread_self(), SIGUSR2)
        #expect(csys_signalfd_read(descriptor) == SIGUSR2 && csys_signalfd_read(descriptor) == -EAGAIN)
    }
}
