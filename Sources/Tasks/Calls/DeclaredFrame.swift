internal import HTTPWire
internal import ImagePipeline
internal import ServiceCore
internal import Settings
package import WireFormats

extension Call {
    /// Refuses a raw frame by its head, before its body is read: by its layout, by the limits, or because the length
    /// does not fit.
    package func checkDeclaredFrame() throws(ServiceError) {
        do throws(ImageError) {
            guard let frame = try RawFrame.described(by: head.value(of: "content-type")) else { return }
            let settings = live.settings
            guard settings.pictureFormats.contains(.raw) else { throw .turnedOff(.raw) }
            let pixels = frame.width * frame.height
            guard pixels <= settings.maxPixels else {
                throw .tooLarge(pixels: pixels, limit: settings.maxPixels, width: frame.width, height: frame.height)
            }
            // Without a length, it is compared when the body has arrived.
            if let length = head.value(of: "content-length").flatMap({ Int($0) }) { try frame.check(count: length) }
        } catch {
            throw ServiceError(error)
        }
    }
}
