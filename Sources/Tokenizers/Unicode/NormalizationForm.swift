/// The four normalization forms of Unicode, with the data of ``CharacterTable``.
package enum NormalizationForm: String, Sendable, CaseIterable {
    case nfc = "NFC", nfd = "NFD", nfkc = "NFKC", nfkd = "NFKD"

    private var isCompatible: Bool { self == .nfkc || self == .nfkd }
    private var composes: Bool { self == .nfc || self == .nfkc }

    /// The text in this form. Takes linear time, and n log n where n combining marks follow one another.
    package func normalized(_ text: [Unicode.Scalar], _ table: CharacterTable) -> [Unicode.Scalar] {
        // ASCII text is in every form.
        guard text.contains(where: { $0.value >= 0x80 }) else { return text }
        var result = decomposed(text, table)
        if composes { Self.compose(&result, table) }
        return result
    }

    private func decomposed(_ text: [Unicode.Scalar], _ table: CharacterTable) -> [Unicode.Scalar] {
        var result: [Unicode.Scalar] = []
        result.reserveCapacity(text.count + text.count / 4)
        /// The characters of a class other than 0 at the end of the result, and their classes.
        var marks: [(mark: Unicode.Scalar, order: UInt8)] = []
        func flush() {
            guard !marks.isEmpty else { return }
            if marks.count > 1 { Self.sort(&marks) }
            result.append(contentsOf: marks.lazy.map(\.mark))
            marks.removeAll(keepingCapacity: true)
        }
        func add(_ character: Unicode.Scalar) {
            let order = table.combiningClass(character)
            if order == 0 {
                flush()
                result.append(character)
            } else {
                marks.append((character, order))
            }
        }
        for character in text {
            if let syllable = HangulSyllable(character) {
                for part in syllable.parts { add(part) }
            } else if table.traits(character).decomposes,
                let parts = table.decomposition(character, compatibly: isCompatible)
            {
                for part in parts { add(part) }
            } else {
                add(character)
            }
        }
        flush()
        return result
    }

    /// Sorts marks by class; those of one class keep their order.
    private static func sort(_ marks: inout [(mark: Unicode.Scalar, order: UInt8)]) {
        guard marks.count > 16 else {
            for end in 1..<marks.count {
                var place = end
                while place > 0, marks[place - 1].order > marks[place].order {
                    marks.swapAt(place - 1, place)
                    place -= 1
                }
            }
            return
        }
        var byClass = [[Unicode.Scalar]](repeating: [], count: 256)
        for (mark, order) in marks { byClass[Int(order)].append(mark) }
        marks = byClass.enumerated().flatMap { order, group in group.map { ($0, UInt8(order)) } }
    }

    /// Composes in place: each character with the last starter before it, unless one between them blocks it.
    private static func compose(_ text: inout [Unicode.Scalar], _ table: CharacterTable) {
        var starter: Int?
        var end = 0
        var last: UInt8 = 0
        for place in text.indices {
            let character = text[place], order = table.combiningClass(character)
            if let first = starter, table.traits(character).composesBackward,
                end == first + 1 || last < order && last != 0,
                let whole = HangulSyllable.composed(text[first], character) ?? table.composition(text[first], character)
            {
                text[first] = whole
                continue
            }
            if order == 0 {
                starter = end
                last = 0
            } else {
                last = order
            }
            text[end] = character
            end += 1
        }
        text.removeSubrange(end...)
    }
}

/// A syllable of Hangul, which is composed of two or three letters by arithmetic (Unicode, section 3.12).
struct HangulSyllable {
    private static let base: UInt32 = 0xAC00, leads: UInt32 = 0x1100, vowels: UInt32 = 0x1161, trails: UInt32 = 0x11A7
    private static let vowelCount: UInt32 = 21, trailCount: UInt32 = 28, count: UInt32 = 11_172

    private let number: UInt32

    /// The syllable that a character is; nil if it is not one.
    init?(_ character: Unicode.Scalar) {
        guard character.value >= Self.base, character.value - Self.base < Self.count else { return nil }
        number = character.value - Self.base
    }

    /// The letters.
    var parts: [Unicode.Scalar] {
        let trail = number % Self.trailCount, pair = number / Self.trailCount
        let values = [
            Self.leads + pair / Self.vowelCount, Self.vowels + pair % Self.vowelCount, Self.trails + trail,
        ]
        return values.prefix(trail == 0 ? 2 : 3).compactMap(Unicode.Scalar.init)
    }

    /// True if the character may be the second one of a composition.
    static func endsComposition(_ character: Unicode.Scalar) -> Bool {
        (vowels..<vowels + vowelCount).contains(character.value)
            || (trails + 1..<trails + trailCount).contains(character.value)
    }

    /// The syllable that two characters compose to; nil if they do not.
    static func composed(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
        if (leads..<leads + 19).contains(first.value), (vowels..<vowels + vowelCount).contains(second.value) {
            let pair = (first.value - leads) * vowelCount + second.value - vowels
            return Unicode.Scalar(base + pair * trailCount)
        }
        if let syllable = HangulSyllable(first), syllable.number % trailCount == 0,
            (trails + 1..<trails + trailCount).contains(second.value)
        {
            return Unicode.Scalar(first.value + second.value - trails)
        }
        return nil
    }
}
