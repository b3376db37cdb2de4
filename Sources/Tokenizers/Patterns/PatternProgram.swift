/// A pattern as instructions, for ``PatternMatcher``.
struct PatternProgram: Sendable {
    /// The maximum number of instructions: counted repetitions are written out.
    static let maximumLength = 4_000

    enum Instruction: Sendable {
        /// Takes a character that is in a set.
        case character(Int)
        /// Goes on at both places; the first one is preferred.
        case fork(Int, Int)
        case jump(Int)
        case lookahead(Int, isNegative: Bool)
        case lineStart
        case lineEnd
        case end
    }

    private(set) var instructions: [Instruction] = []
    private(set) var sets: [PatternSet] = []
    private var numbers: [CharacterClass: Int] = [:]

    init(_ pattern: String, _ table: CharacterTable) throws(TokenizerProblem) {
        try append(try PatternParser.parse(pattern), table)
        instructions.append(.end)
    }

    private mutating func append(_ node: PatternNode, _ table: CharacterTable) throws(TokenizerProblem) {
        guard instructions.count < Self.maximumLength else {
            throw .tooLarge("a pattern has more than \(Self.maximumLength) parts, repetitions written out")
        }
        switch node {
        case .character(let set): instructions.append(.character(number(set, table)))
        case .lookahead(let set, let isNegative):
            instructions.append(.lookahead(number(set, table), isNegative: isNegative))
        case .lineStart: instructions.append(.lineStart)
        case .lineEnd: instructions.append(.lineEnd)
        case .sequence(let parts): for part in parts { try append(part, table) }
        case .alternatives(let parts):
            var ends: [Int] = []
            for part in parts.dropLast() {
                let fork = reserve()
                try append(part, table)
                ends.append(reserve())
                instructions[fork] = .fork(fork + 1, instructions.count)
            }
            if let last = parts.last { try append(last, table) }
            for end in ends { instructions[end] = .jump(instructions.count) }
        case .repetition(let part, let minimum, let maximum, let isLazy):
            for _ in 0..<minimum { try append(part, table) }
            if let maximum {
                var forks: [Int] = []
                for _ in minimum..<maximum {
                    forks.append(reserve())
                    try append(part, table)
                }
                for fork in forks { setFork(fork, isLazy) }
            } else {
                let fork = reserve()
                try append(part, table)
                instructions.append(.jump(fork))
                setFork(fork, isLazy)
            }
        }
    }

    private mutating func reserve() -> Int {
        instructions.append(.end)
        return instructions.count - 1
    }

    /// Makes a reserved instruction the choice between the next one and the end.
    private mutating func setFork(_ place: Int, _ isLazy: Bool) {
        instructions[place] =
            isLazy ? .fork(instructions.count, place + 1) : .fork(place + 1, instructions.count)
    }

    private mutating func number(_ set: CharacterClass, _ table: CharacterTable) -> Int {
        if let number = numbers[set] { return number }
        numbers[set] = sets.count
        sets.append(PatternSet(set, table))
        return sets.count - 1
    }
}

/// A set of characters with a bit for each ASCII character.
struct PatternSet: Sendable {
    private let set: CharacterClass
    private var low: UInt64 = 0, high: UInt64 = 0

    init(_ set: CharacterClass, _ table: CharacterTable) {
        self.set = set
        for value in UInt8(0)..<128 {
            let character = Unicode.Scalar(value)
            guard set.contains(character, table.traits(character)) else { continue }
            if value < 64 { low |= 1 << UInt64(value) } else { high |= 1 << UInt64(value - 64) }
        }
    }

    @inline(__always)
    func contains(_ character: Unicode.Scalar, _ table: CharacterTable) -> Bool {
        if character.value < 64 { return low >> UInt64(character.value) & 1 != 0 }
        if character.value < 128 { return high >> UInt64(character.value - 64) & 1 != 0 }
        return set.contains(character, table.traits(character))
    }
}
