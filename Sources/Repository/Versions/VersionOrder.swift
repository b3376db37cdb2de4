/// The order of versions: by the numbers between their dots (`3`, `3.1`, `3.10`, `4`). Parts that are not numbers come
/// last, in the order of their text.
package struct VersionOrder: Comparable {
    private let text: String
    /// The version as one number, which nearly all are; nil for others.
    private let number: UInt64?

    package init(_ version: String) { (text, number) = (version, UInt64(version)) }

    package static func == (a: VersionOrder, b: VersionOrder) -> Bool { a.text == b.text }

    package static func < (a: VersionOrder, b: VersionOrder) -> Bool {
        if let first = a.number, let second = b.number { return (first, a.text) < (second, b.text) }
        return a.parts.lexicographicallyPrecedes(b.parts)
    }

    private struct Part: Comparable {
        let number: UInt64
        let text: Substring
        static func < (a: Part, b: Part) -> Bool { (a.number, a.text) < (b.number, b.text) }
    }

    private var parts: [Part] {
        text.split(separator: ".", omittingEmptySubsequences: false).map { Part(number: UInt64($0) ?? .max, text: $0) }
    }
}

/// A version created by an update: the base version, and the number of the update.
struct UpdatedVersion: Hashable {
    let base: String
    let number: Int

    init(base: String, number: Int) { (self.base, self.number) = (base, number) }

    /// Parses `3.1`; nil if no update can have this version.
    init?(_ version: String) {
        guard let dot = version.lastIndex(of: "."), dot > version.startIndex, !version.hasPrefix("."),
            let number = Int(version[version.index(after: dot)...]), number > 0,
            version == "\(version[..<dot]).\(number)"
        else { return nil }
        self.init(base: String(version[..<dot]), number: number)
    }

    var text: String { "\(base).\(number)" }
}
