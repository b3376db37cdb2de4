package import SystemSupport

/// The part of the pictures that one of several runs answers. It depends on the names, so a picture stays in its part
/// when others are added.
package struct BulkShard: Sendable, Hashable {
    /// The index, from 0.
    package let index: Int
    package let count: Int

    private static let maximum = 1_000_000

    /// Parses "I/N".
    package init(_ text: String) throws(CommandError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw Self.wrong("--shard", text) }
        try self.init(index: String(parts[0]), count: String(parts[1]), flag: "--shard", text: text)
    }

    /// Takes the index of an indexed Kubernetes Job, and the number of its completions.
    /// - Parameter index: the value of JOB_COMPLETION_INDEX.
    package init(index: String?, count: String) throws(CommandError) {
        guard let index else {
            throw CommandError("--shards: JOB_COMPLETION_INDEX is not set: use --shard I/N", isConfiguration: true)
        }
        try self.init(index: index, count: count, flag: "--shards with JOB_COMPLETION_INDEX", text: "\(index)/\(count)")
    }

    private init(index: String, count: String, flag: String, text: String) throws(CommandError) {
        func number(_ text: String) -> Int? { text.allSatisfy { ("0"..."9").contains($0) } ? Int(text) : nil }
        guard let i = number(index), let n = number(count), n <= Self.maximum, i < n else {
            throw Self.wrong(flag, text)
        }
        (self.index, self.count) = (i, n)
    }

    private static func wrong(_ flag: String, _ text: String) -> CommandError {
        CommandError(
            "\(flag): expected I/N with I from 0 to N - 1, found \"\(text.prefix(40))\"", isConfiguration: true)
    }

    /// True if a picture is in this part.
    package func has(_ name: String) -> Bool {
        // FNV-1a with a final mix, because its low bits depend only on the last characters.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 32) &* 0x9E37_79B9_7F4A_7C15
        return Int((hash >> 16) % UInt64(count)) == index
    }
}
