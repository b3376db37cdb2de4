/// The tokens `<0x00>` to `<0xFF>`, which stand for the bytes of characters that have no token.
struct ByteTokens: Sendable {
    /// By byte the id of its token, or nil.
    private let ids: [UInt32?]

    init(_ vocabulary: TokenTable) {
        let digits = Array("0123456789ABCDEF".utf8)
        ids = (0..<256).map {
            vocabulary.id(of: Array("<0x".utf8) + [digits[$0 >> 4], digits[$0 & 15], UInt8(ascii: ">")])
        }
    }

    /// The ids of some bytes; nil if one of them has no token.
    func ids(of bytes: [UInt8]) -> [UInt32]? {
        var result: [UInt32] = []
        for byte in bytes {
            guard let id = ids[Int(byte)] else { return nil }
            result.append(id)
        }
        return result
    }
}
