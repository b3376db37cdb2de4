internal import ImagePipeline
internal import JSON

/// Reads the keys of an image input that define how a picture is fitted to the tensor.
struct PictureGeometryParser {
    let object: ManifestObject
    /// Height, width and channels of the input, if its shape is valid.
    let dimensions: [Int]

    private var problems: ProblemList { object.problems }

    private enum Resize: String, CaseIterable {
        case none
    }

    func parse(into image: inout ModelManifest.ImageLayer) {
        let sides = 1...ImageTensorSpec.maximumSide
        image.resizeShorterSide = object.integer("resize_shorter_side", in: sides)
        if let centering = object.choice("centering", Centering.self) { image.centering = centering }
        if let alignment = object.choice("fit_alignment", FitAlignment.self) { image.alignment = alignment }
        image.keepsSize = object.choice("resize", Resize.self) == Resize.none
        if let share = object.number("crop_pct") { cropShare(share, of: &image) }
        image.resizeExactly = size("resize_exactly")
        for (key, covers) in [("resize_contain", false), ("resize_cover", true)] {
            if let size = size(key) { image.resizeKeepingShape = ProportionalResize(size, covers: covers) }
        }
        let given = [
            "resize_shorter_side", "crop_pct", "resize_exactly", "resize_contain", "resize_cover", "resize",
        ].filter(object.has)
        if given.count > 1 {
            problems.add(
                object.path(of: given[1]), "cannot be combined with \"\(given[0])\": only one can set the scaling")
        }
        if let key = given.first, image.cropAndScale != .centerCrop {
            problems.add(
                object.path(of: key),
                "is for \"crop_and_scale\": \"center\"; with \"\(image.cropAndScale.rawValue)\" nothing is cropped")
        }
        if let key = given.first, image.openSize != nil {
            problems.add(object.path(of: key), "is for a shape without -1: pictures keep their size")
        }
        if object.has("fit_alignment"), image.cropAndScale != .scaleFit {
            problems.add(
                object.path(of: "fit_alignment"),
                "is for \"crop_and_scale\": \"fit\"; with \"\(image.cropAndScale.rawValue)\" there is no margin")
        }
    }

    /// Reads `[height, width]`.
    private func size(_ key: String) -> ImageSize? {
        guard let elements = object.elements(key) else { return nil }
        let sizes = elements.compactMap { element -> Int? in
            if case .integer(let side) = element, (1...ImageTensorSpec.maximumSide).contains(side) { side } else { nil }
        }
        guard sizes.count == 2, elements.count == 2 else {
            problems.add(
                object.path(of: key), "expected [height, width], both from 1 to \(ImageTensorSpec.maximumSide)")
            return nil
        }
        return ImageSize(width: sizes[1], height: sizes[0])
    }

    /// Sets the size before the crop as timm and torchvision do: the crop's size divided by a fraction, rounded down.
    private func cropShare(_ share: Double, of image: inout ModelManifest.ImageLayer) {
        guard share > 0, share <= 1 else {
            problems.add(object.path(of: "crop_pct"), "expected a number greater than 0, at most 1, found \(share)")
            return
        }
        guard dimensions.count == 3 else { return }
        let side = (Double(min(dimensions[0], dimensions[1])) / share).rounded(.down)
        guard side <= Double(ImageTensorSpec.maximumSide) else {
            problems.add(
                object.path(of: "crop_pct"),
                "\(share) needs a side of more than \(ImageTensorSpec.maximumSide) pixels")
            return
        }
        image.resizeShorterSide = Int(side)
    }
}
