/// The name of an example that annotations taught: their ids, so that a deletion finds what they taught. It lies in the
/// journal of the taught model, with the example.
package struct AnnotationName: Sendable, Equatable {
    /// The ids of the annotations with this label for this picture, oldest first.
    package private(set) var ids: [Int]

    private static let start = "labelstudio:"
    /// The longest name of an example, in bytes.
    private static let maximumBytes = 256

    package init(_ id: Int) { ids = [id] }

    /// Nil for a name of another kind.
    package init?(_ name: String) {
        guard name.hasPrefix(Self.start) else { return nil }
        let parts = name.dropFirst(Self.start.count).split(separator: ",", omittingEmptySubsequences: false)
        ids = parts.compactMap { Int($0) }
        guard ids.count == parts.count, !ids.isEmpty else { return nil }
    }

    package var text: String { Self.start + ids.map(String.init).joined(separator: ",") }

    /// The name with one more annotation; the oldest ones are dropped where it would become too long.
    package func adding(_ id: Int) -> AnnotationName {
        guard !ids.contains(id) else { return self }
        var name = self
        name.ids.append(id)
        while name.text.utf8.count > Self.maximumBytes { name.ids.removeFirst() }
        return name
    }

    /// The name without some annotations; nil if none is left.
    package func removing(_ gone: Set<Int>) -> AnnotationName? {
        var name = self
        name.ids.removeAll(where: gone.contains)
        return name.ids.isEmpty ? nil : name
    }
}
