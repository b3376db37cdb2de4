internal import JSON

/// The properties and decompositions of all characters, unpacked from the committed data at the first use.
struct CharacterTable: Sendable {
    /// The table. A tokenizer keeps a copy, so that texts are encoded without asking whether it exists.
    static let shared = CharacterTable()

    /// The page of each 256 characters, and the traits by page: most pages are equal to another one.
    private var pages: [UInt16] = []
    private var traits: [UInt16] = []
    private let classes: SparseTable
    private let lowercase: SparseTable
    private let canonical: DecompositionTable
    private let compatible: DecompositionTable
    /// By two characters the one that they compose to.
    private let compositions: [UInt64: UInt32]

    private init() {
        var classes = SparseTable(), lowercase = SparseTable()
        var data = PackedNumbers(PropertyData.classes)
        while let step = data.next(), let value = data.next() { classes.append(step: step, value: Int(value)) }
        data = PackedNumbers(PropertyData.lowercase)
        while let step = data.next(), let value = data.nextSigned() { lowercase.append(step: step, value: value) }
        self.classes = classes
        self.lowercase = lowercase
        canonical = DecompositionTable(DecompositionData.canonical)
        compatible = DecompositionTable(DecompositionData.compatible)
        compositions = canonical.compositions()
        unpackTraits()
    }

    private mutating func unpackTraits() {
        var data = PackedNumbers(PropertyData.traits), all: [UInt16] = []
        all.reserveCapacity(0x110000)
        while let count = data.next(), let value = data.next() {
            let room = 0x110000 - all.count
            all.append(contentsOf: repeatElement(UInt16(truncatingIfNeeded: value), count: min(Int(count), room)))
        }
        var known: [ArraySlice<UInt16>: UInt16] = [:]
        for start in stride(from: 0, to: all.count, by: 256) {
            let page = all[start..<min(start + 256, all.count)]
            // Slices of equal contents are equal, wherever they begin.
            if let number = known[page] {
                pages.append(number)
                continue
            }
            known[page] = UInt16(known.count)
            pages.append(UInt16(known.count - 1))
            traits.append(contentsOf: page)
        }
    }

    @inline(__always)
    func traits(_ character: Unicode.Scalar) -> CharacterTraits {
        let page = Int(pages[Int(character.value >> 8)])
        return CharacterTraits(bits: traits[page << 8 | Int(character.value & 255)])
    }

    /// The canonical combining class.
    func combiningClass(_ character: Unicode.Scalar) -> UInt8 {
        traits(character).hasClass ? UInt8(truncatingIfNeeded: classes[character.value] ?? 0) : 0
    }

    /// The lower case of one character, without regard to its neighbours.
    @inline(__always)
    func appendLowercase(_ character: Unicode.Scalar, to text: inout [Unicode.Scalar]) {
        if character.value == 0x130 {
            text.append("i")
            text.append("\u{307}")
        } else if traits(character).hasLowercase, let distance = lowercase[character.value],
            let lower = Unicode.Scalar(UInt32(truncatingIfNeeded: Int(character.value) + distance))
        {
            text.append(lower)
        } else {
            text.append(character)
        }
    }

    /// The full decomposition of a character in the table; nil if it has none of this kind.
    func decomposition(_ character: Unicode.Scalar, compatibly: Bool) -> ArraySlice<Unicode.Scalar>? {
        if compatibly, let text = compatible[character.value] { return text }
        return canonical[character.value]
    }

    /// The character that two compose to; nil if they do not.
    func composition(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
        compositions[UInt64(first.value) << 32 | UInt64(second.value)].flatMap(Unicode.Scalar.init)
    }
}

/// Numbers of seven bits a byte, in base64.
private struct PackedNumbers {
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: StaticString) {
        bytes = Base64.decode(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)) ?? []
    }

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

/// Values of some characters, found by binary search.
private struct SparseTable: Sendable {
    private var characters: [UInt32] = []
    private var values: [Int32] = []

    mutating func append(step: UInt32, value: Int) {
        characters.append((characters.last ?? 0) &+ step)
        values.append(Int32(truncatingIfNeeded: value))
    }

    subscript(character: UInt32) -> Int? {
        var low = 0, high = characters.count
        while low < high {
            let middle = (low + high) / 2
            if characters[middle] < character { low = middle + 1 } else { high = middle }
        }
        return low < characters.count && characters[low] == character ? Int(values[low]) : nil
    }
}

/// Texts of some characters.
private struct DecompositionTable: Sendable {
    private var index = SparseTable()
    private var characters: [UInt32] = []
    private var isComposable: [Bool] = []
    private var starts: [Int] = [0]
    private var texts: [Unicode.Scalar] = []

    init(_ data: StaticString) {
        var numbers = PackedNumbers(data), character: UInt32 = 0
        while let step = numbers.next(), let length = numbers.next() {
            character &+= step
            index.append(step: step, value: characters.count)
            characters.append(character)
            isComposable.append(length & 1 != 0)
            var previous = Int(character)
            for _ in 0..<length >> 1 {
                previous += numbers.nextSigned() ?? 0
                if let scalar = Unicode.Scalar(UInt32(truncatingIfNeeded: previous)) { texts.append(scalar) }
            }
            starts.append(texts.count)
        }
    }

    subscript(character: UInt32) -> ArraySlice<Unicode.Scalar>? {
        index[character].map { texts[starts[$0]..<starts[$0 + 1]] }
    }

    /// By two characters the one that they compose to. The first of the two is itself composed where the whole
    /// decomposition has more than two characters.
    func compositions() -> [UInt64: UInt32] {
        var wholes: [[Unicode.Scalar]: UInt32] = [:], pairs: [UInt64: UInt32] = [:]
        for (place, character) in characters.enumerated() where isComposable[place] {
            wholes[Array(texts[starts[place]..<starts[place + 1]])] = character
        }
        for (text, character) in wholes {
            guard let last = text.last else { continue }
            let first = text.count == 2 ? text.first?.value : wholes[Array(text.dropLast())]
            if let first { pairs[UInt64(first) << 32 | UInt64(last.value)] = character }
        }
        return pairs
    }
}
