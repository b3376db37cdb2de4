import Glibc

/// Reads lines of standard input without stdio: `readLine` would hold the stream's lock while it waits, and `exit` in
/// another thread would wait for that lock.
struct CommandInput {
    private var buffer: [UInt8] = []

    /// The next line; nil at the end.
    mutating func next() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = read(0, &bytes, bytes.count)
            guard count > 0 else { return nil }
            buffer.append(contentsOf: bytes[..<count])
        }
    }
}
