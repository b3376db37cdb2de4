/// The tokens around the ids of a text, and the types of all.
struct PostProcessor: Sendable {
    /// Tokens with a type.
    struct Special: Sendable {
        let ids: [UInt32]
        let typeID: UInt32
    }

    /// The parts in their order; a text is nil.
    enum Part: Sendable {
        case special(Special)
        case text(typeID: UInt32)
    }

    let parts: [Part]

    /// Adds no tokens.
    static let none = PostProcessor(parts: [.text(typeID: 0)])

    /// The number of added tokens.
    var addedCount: Int {
        parts.reduce(0) {
            if case .special(let special) = $1 { $0 + special.ids.count } else { $0 }
        }
    }

    /// The ids of a text with the tokens around them.
    func encoding(_ ids: [UInt32], isTruncated: Bool) -> Encoding {
        var result = Encoding(isTruncated: isTruncated)
        for part in parts {
            switch part {
            case .special(let special): result.append(special.ids, typeID: special.typeID)
            case .text(let typeID): result.append(ids, typeID: typeID)
            }
        }
        return result
    }
}
