internal import JSON

/// The decompositions and compositions of characters, except for syllables of Hangul, which are computed.
struct DecompositionTable: Sendable {
    /// The full decompositions, one after another.
    private var texts: [Unicode.Scalar] = []
    /// By character the place of its canonical decomposition, and of that with all steps.
    private var canonical: [Unicode.Scalar: Range<Int>] = [:]
    private var compatible: [Unicode.Scalar: Range<Int>] = [:]
    /// By two characters the one that they compose to.
    private var compositions: [UInt64: Unicode.Scalar] = [:]
    /// The second characters of compositions.
    private var ends: Set<Unicode.Scalar> = []

    /// Reads data in the form of ``DecompositionData``. The standard library says which steps are canonical (strings
    /// are equal if they are canonically equivalent) and which of these are not composed again.
    init(_ data: StaticString) {
        let steps = Self.unpacked(data)
        let canonicalSteps = steps.filter { String($0) == Self.string($1) }
        for character in steps.keys {
            compatible[character] = append(character, steps)
            if let text = canonicalSteps[character] {
                canonical[character] = append(character, canonicalSteps)
                if text.count == 2, !character.properties.isFullCompositionExclusion {
                    compositions[Self.pair(text[0], text[1])] = character
                    ends.insert(text[1])
                }
            }
        }
    }

    func has(_ character: Unicode.Scalar) -> Bool { compatible[character] != nil }

    /// The full decomposition of a character; nil if it has none of this kind.
    subscript(character: Unicode.Scalar, compatibly compatibly: Bool) -> ArraySlice<Unicode.Scalar>? {
        (compatibly ? compatible : canonical)[character].map { texts[$0] }
    }

    /// The character that two compose to; nil if they do not.
    func composition(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
        compositions[Self.pair(first, second)]
    }

    /// True if the character may be the second one of a composition.
    func endsComposition(_ character: Unicode.Scalar) -> Bool { ends.contains(character) }

    /// Appends what a character becomes by all of the steps. Returns its place.
    private mutating func append(
        _ character: Unicode.Scalar, _ steps: [Unicode.Scalar: [Unicode.Scalar]]
    ) -> Range<Int> {
        let start = texts.count
        func add(_ character: Unicode.Scalar) {
            if let text = steps[character] { text.forEach(add) } else { texts.append(character) }
        }
        add(character)
        return start..<texts.count
    }

    private static func pair(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> UInt64 {
        UInt64(first.value) << 32 | UInt64(second.value)
    }

    private static func string(_ characters: [Unicode.Scalar]) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: characters)
        return String(text)
    }

    /// The steps, by character. In the data, characters that follow one another and have texts of the same length are a
    /// run: the distance from the last character, the length and the number of characters, then for each of them the
    /// distances from the text before.
    private static func unpacked(_ data: StaticString) -> [Unicode.Scalar: [Unicode.Scalar]] {
        let bytes = Base64.decode(UnsafeRawBufferPointer(start: data.utf8Start, count: data.utf8CodeUnitCount)) ?? []
        var numbers = PackedNumbers(bytes: bytes), steps: [Unicode.Scalar: [Unicode.Scalar]] = [:]
        var character: UInt32 = 0, last: [Int] = []
        while let distance = numbers.next(), let length = numbers.next(), let count = numbers.next() {
            character &+= distance
            for number in 0..<count {
                character &+= number == 0 ? 0 : 1
                var text: [Unicode.Scalar] = []
                for place in 0..<Int(length) {
                    if place == last.count { last.append(0) }
                    last[place] += numbers.nextSigned() ?? 0
                    text += Unicode.Scalar(UInt32(truncatingIfNeeded: last[place])).map { [$0] } ?? []
                }
                if let key = Unicode.Scalar(character) { steps[key] = text }
            }
        }
        return steps
    }
}

/// Numbers of seven bits a byte.
private struct PackedNumbers {
    let bytes: [UInt8]
    private var place = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> UInt32? {
        var value: UInt32 = 0, shift: UInt32 = 0
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            value |= UInt32(byte & 127) << shift
            if byte < 128 { return value }
            shift += 7
        }
        return nil
    }

    /// A number that has its sign in the lowest bit.
    mutating func nextSigned() -> Int? {
        next().map { $0 & 1 == 0 ? Int($0 >> 1) : -Int($0 >> 1) - 1 }
    }
}
