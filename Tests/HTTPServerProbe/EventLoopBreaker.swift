import Glibc

/// Makes epoll_wait(2) fail in every event loop, which no known cause does.
enum EventLoopBreaker {
    /// Replaces each epoll descriptor by /dev/null. A loop that is waiting meanwhile continues until it is woken.
    static func run() {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        for descriptor in Int32(3)..<64 {
            var target = [CChar](repeating: 0, count: 64)
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            let name = String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // The concurrency runtime has an epoll descriptor of its own, which must not be changed.
            if name == "anon_inode:[eventpoll]", isServers(descriptor) { dup2(null, descriptor) }
        }
    }

    /// True if an epoll descriptor watches a listening socket.
    private static func isServers(_ descriptor: Int32) -> Bool {
        guard let file = fopen("/proc/self/fdinfo/\(descriptor)", "r") else { return false }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            // tfd:        5 events:       19 data: ...
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let words = text.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count > 1, words[0] == "tfd:", let watched = Int32(words[1]) else { continue }
            var value: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            if getsockopt(watched, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0, value != 0 { return true }
        }
        return false
    }
}
