package import Inference

/// Outputs copied from the engine's memory.
package struct CopiedOutputs: Sendable {
    private var parts: [(index: Int, shape: Shape, bytes: [UInt8])] = []

    /// The total number of bytes.
    package var byteCount: Int { parts.reduce(0) { $0 + $1.bytes.count } }

    init(_ views: [TensorView]) {
        parts = views.map { ($0.index, $0.shape, [UInt8]($0.bytes)) }
    }

    /// Joins the outputs of predictions, along the outermost axis.
    package init(joining items: [CopiedOutputs]) {
        guard items.count != 1 else {
            self = items[0]
            return
        }
        guard let first = items.first else { return }
        for (place, part) in first.parts.enumerated() {
            var shape = part.shape
            if !shape.dimensions.isEmpty { shape.dimensions[0] *= items.count }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(part.bytes.count * items.count)
            for item in items where place < item.parts.count { bytes += item.parts[place].bytes }
            parts.append((part.index, shape, bytes))
        }
    }

    /// Calls `body` with one output's memory, by its index in the model; with nil if it is missing.
    package func withView<R>(_ index: Int, _ body: (TensorView?) throws -> R) rethrows -> R {
        guard let part = parts.first(where: { $0.index == index }) else { return try body(nil) }
        return try part.bytes.withUnsafeBytes { try body(TensorView(index: index, shape: part.shape, bytes: $0)) }
    }

    /// Calls `body` with the outputs' memory.
    package func withViews<R>(_ body: ([TensorView]) -> R) -> R { withViews(parts[...], [], body) }

    private func withViews<R>(
        _ rest: ArraySlice<(index: Int, shape: Shape, bytes: [UInt8])>, _ views: [TensorView],
        _ body: ([TensorView]) -> R
    ) -> R {
        guard let next = rest.first else { return body(views) }
        return next.bytes.withUnsafeBytes { raw in
            withViews(
                rest.dropFirst(), views + [TensorView(index: next.index, shape: next.shape, bytes: raw)], body)
        }
    }
}
