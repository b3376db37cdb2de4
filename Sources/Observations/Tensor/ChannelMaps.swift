/// The place of the channel axis: `[1, channels, height, width]`, or `[1, height, width, channels]`.
package enum ChannelPlace: String, Sendable, CaseIterable { case first, last }

/// The axes of a tensor with a map for each channel.
struct ChannelMaps: Sendable {
    let channels: Int, width: Int, height: Int, isFirst: Bool
    var cells: Int { width * height }
    /// The distance in elements between cells, and between channels.
    var cellStep: Int { isFirst ? 1 : channels }
    var channelStep: Int { isFirst ? cells : 1 }

    /// Nil if the shape has no such maps.
    /// - Parameter fits: returns true for a possible number of channels; decides the axis if `place` is nil.
    init?(_ shape: [Int], place: ChannelPlace? = nil, fits: (Int) -> Bool) {
        guard shape.count == 3, let size = OutputTensor.count(of: shape), size > 0, size <= 1 << 30 else { return nil }
        let isLikelyFirst = fits(shape[0]) != fits(shape[2]) ? fits(shape[0]) : shape[0] <= shape[2]
        isFirst = place.map { $0 == .first } ?? isLikelyFirst
        (channels, height, width) = isFirst ? (shape[0], shape[1], shape[2]) : (shape[2], shape[0], shape[1])
        guard fits(channels) else { return nil }
    }
}
