/// A part of a pattern.
indirect enum PatternNode: Sendable, Hashable {
    case character(CharacterClass)
    case sequence([PatternNode])
    case alternatives([PatternNode])
    /// A part that occurs `minimum` to `maximum` times, without limit if that is nil: as often as possible, or as
    /// rarely as possible if it is lazy.
    case repetition(PatternNode, minimum: Int, maximum: Int?, isLazy: Bool)
    /// The next character is in the set, or is not.
    case lookahead(CharacterClass, isNegative: Bool)
    case lineStart
    case lineEnd

    /// True if the part can match an empty text.
    var canBeEmpty: Bool {
        switch self {
        case .character: false
        case .sequence(let parts): parts.allSatisfy(\.canBeEmpty)
        case .alternatives(let parts): parts.contains(where: \.canBeEmpty)
        case .repetition(let part, let minimum, _, _): minimum == 0 || part.canBeEmpty
        case .lookahead, .lineStart, .lineEnd: true
        }
    }
}
