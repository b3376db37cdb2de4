extension ImageTensorSpec {
    /// The specification for one picture: if the tensor's size depends on the picture, with that size; otherwise
    /// itself.
    /// - Parameter options: the options of the request.
    public func resolved(for info: ImageInfo, options: ImageDecodeOptions = ImageDecodeOptions()) -> ImageTensorSpec {
        guard let openSize else { return self }
        if let usual = openSize.usual {
            var resolved = self
            resolved.openSize = nil
            let size = options.size ?? usual
            (resolved.width, resolved.height) = (size.width, size.height)
            return resolved
        }
        let transposes = Orientation(exif: info.oriented(options.orientation).orientation).transposes
        var (width, height) = transposes ? (info.height, info.width) : (info.width, info.height)
        if let part = options.part?.within(width: width, height: height) {
            (width, height) = (max(1, Int(part.width.rounded())), max(1, Int(part.height.rounded())))
        }
        let mode = options.cropAndScale ?? cropAndScale
        guard
            let (tensor, picture) = openSize.sizes(width: width, height: height, mode: mode, asked: options.size)
        else { return self }
        var resolved = self
        resolved.openSize = nil
        resolved.isSettled = true
        (resolved.width, resolved.height) = (tensor.width, tensor.height)
        resolved.cropAndScale = mode == .scaleFill ? .scaleFill : .centerCrop
        resolved.resizeExactly = mode == .scaleFill ? nil : picture
        return resolved
    }
}
