/// The names of taught models, of classes and of examples.
package enum TaughtNames {
    /// True for 1 to 64 of the letters A to Z and a to z, digits, `.`, `_` and `-`, with a letter or digit first.
    package static func isName(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard let first = bytes.first, bytes.count <= 64, isAlphanumeric(first) else { return false }
        return bytes.allSatisfy {
            isAlphanumeric($0) || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0)
        }
    }

    /// Throws `invalid` if a name is not valid.
    package static func check(name: String) throws(TeachingError) {
        guard isName(name) else {
            throw .invalid(
                "the name \"\(name.prefix(80))\" can't be that of a taught model: expected 1 to 64 letters, digits, \".\", \"_\" and \"-\", "
                    + "with a letter or digit first")
        }
    }

    /// Throws `invalid` if a label is empty, longer than 256 bytes, or has control characters.
    package static func check(label: String) throws(TeachingError) {
        let count = label.utf8.count
        guard (1...256).contains(count) else { throw .invalid("a label has 1 to 256 bytes: this one has \(count)") }
        guard !label.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .invalid("a label has no control characters: this one has")
        }
    }

    /// Throws `invalid` if the name of an example is empty or longer than 256 bytes.
    package static func check(exampleName name: String) throws(TeachingError) {
        let count = name.utf8.count
        guard (1...256).contains(count) else {
            throw .invalid("the name of an example has 1 to 256 bytes: this one has \(count)")
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
