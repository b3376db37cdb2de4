/// The light of the pixels that a model sees, each from 0 to 1.
package struct PictureLight: Sendable, Hashable, Codable {
    /// The mean luma, 0 for black and 1 for white.
    package let brightness: Float
    /// The standard deviation of the luma by half its range.
    package let contrast: Float
    /// q / (1 + q), where q is the mean step of the luma to its neighbours by (its deviation + 5), both in levels.
    package let sharpness: Float

    /// A measurement.
    package init(brightness: Float, contrast: Float, sharpness: Float) {
        self.brightness = brightness
        self.contrast = contrast
        self.sharpness = sharpness
    }
}
