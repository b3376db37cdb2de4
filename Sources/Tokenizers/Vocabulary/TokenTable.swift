/// Tokens and their ids. Tokens are UTF-8 bytes: a dictionary of strings would treat canonically equivalent tokens as
/// one. All tokens are in one array, because a vocabulary has hundreds of thousands of them.
struct TokenTable: Sendable {
    /// The maximum number of tokens, and of bytes of one token and of all.
    static let maximumTokens = 2_000_000, maximumLength = 4_096, maximumBytes = 32 << 20
    /// The maximum id: engines read ids as 32-bit or 64-bit integers.
    static let maximumID = UInt32(Int32.max)

    private(set) var bytes: [UInt8] = []
    /// The end of each token in `bytes`; it begins where the previous token ends.
    private var ends: [UInt32] = []
    private var ids: [UInt32] = []
    /// By hash the index of a token, or -1. Its size is a power of two, at least twice the number of tokens.
    private var slots = [Int32](repeating: -1, count: 64)

    /// The number of tokens.
    var count: Int { ids.count }
    /// The highest id; nil if the table is empty.
    var highestID: UInt32? { ids.max() }

    /// The range of a token in `bytes`.
    func range(_ index: Int) -> Range<Int> { (index == 0 ? 0 : Int(ends[index - 1]))..<Int(ends[index]) }

    /// The id of the token with an index.
    func id(at index: Int) -> UInt32 { ids[index] }

    /// Adds a token. If the table has it already, it gets the new id, as in a JSON object that is read into a map.
    /// - Returns: false if the token was known.
    @discardableResult
    mutating func insert(_ token: [UInt8], id: UInt32) throws(TokenizerProblem) -> Bool {
        guard id <= Self.maximumID else {
            throw .tooLarge("the id of the token \(Self.shown(token)) is \(id), expected at most \(Self.maximumID)")
        }
        guard token.count <= Self.maximumLength else {
            throw .tooLarge(
                "the token \(Self.shown(token)) has \(token.count) bytes, the limit is \(Self.maximumLength)")
        }
        let (slot, index) = token.withUnsafeBytes { find($0) }
        if let index {
            ids[index] = id
            return false
        }
        guard count < Self.maximumTokens, bytes.count + token.count <= Self.maximumBytes else {
            throw .tooLarge(
                "the vocabulary has more than \(Self.maximumTokens) tokens or \(Self.maximumBytes >> 20) MiB of text")
        }
        bytes.append(contentsOf: token)
        ends.append(UInt32(bytes.count))
        ids.append(id)
        slots[slot] = Int32(count - 1)
        if count * 2 > slots.count { grow() }
        return true
    }

    /// The id of a token; nil if the table does not have it.
    func id(of token: UnsafeRawBufferPointer) -> UInt32? { find(token).index.map { ids[$0] } }

    /// The id of a token; nil if the table does not have it.
    func id(of token: [UInt8]) -> UInt32? { token.withUnsafeBytes { id(of: $0) } }

    /// The id of a token; nil if the table does not have it.
    func id(of token: String) -> UInt32? { id(of: Array(token.utf8)) }

    /// The slot of a token, or the free one where it belongs, and its index.
    private func find(_ token: UnsafeRawBufferPointer) -> (slot: Int, index: Int?) {
        let mask = slots.count - 1
        var slot = Self.hash(token) & mask
        return bytes.withUnsafeBytes { all in
            while slots[slot] >= 0 {
                let index = Int(slots[slot])
                let range = range(index)
                if range.count == token.count, all[range].elementsEqual(token) { return (slot, index) }
                slot = (slot + 1) & mask
            }
            return (slot, nil)
        }
    }

    private mutating func grow() {
        var larger = [Int32](repeating: -1, count: slots.count * 4)
        let mask = larger.count - 1
        bytes.withUnsafeBytes { all in
            for index in 0..<count {
                var slot = Self.hash(UnsafeRawBufferPointer(rebasing: all[range(index)])) & mask
                while larger[slot] >= 0 { slot = (slot + 1) & mask }
                larger[slot] = Int32(index)
            }
        }
        slots = larger
    }

    /// A hash with the seed of the process: a file cannot have tokens that collide.
    private static func hash(_ token: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: token)
        return hasher.finalize()
    }

    /// A token in messages, shortened.
    static func shown(_ token: some Collection<UInt8>) -> String {
        "\"\(String(decoding: token.prefix(60), as: UTF8.self))\"\(token.count > 60 ? "…" : "")"
    }
}
