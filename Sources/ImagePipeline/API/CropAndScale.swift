/// The fit of a picture to the rectangle of the model: Vision's three options. The raw values are those of the query
/// item `crop`.
public enum CropAndScale: String, Sendable, Hashable, CaseIterable, Codable {
    /// The largest rectangle of the target's shape in the middle of the picture, scaled.
    case centerCrop = "center"
    /// The whole picture, scaled to fit; the margins left and right, or above and below, have the fill colour.
    case scaleFit = "fit"
    /// The whole picture, stretched to the target's shape.
    case scaleFill = "fill"
}
