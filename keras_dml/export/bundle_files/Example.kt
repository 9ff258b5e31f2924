// Accepts or rejects a recording with LiteRT's CompiledModel (com.google.ai.edge.litert:litert).
import android.content.res.AssetManager
import com.google.ai.edge.litert.Accelerator
import com.google.ai.edge.litert.CompiledModel

class Verifier(assets: AssetManager) : AutoCloseable {
    private val model =
        CompiledModel.create(assets, "model.tflite", CompiledModel.Options(Accelerator.CPU))

    /** Computes the embedding of a recording, which holds CHANNELS values for each time step. */
    fun embed(recording: FloatArray): FloatArray {
        val inputs = listOf("signal", "length").associateWith { model.createInputBuffer(it, "embed") }
        val outputs = mapOf("embedding" to model.createOutputBuffer("embedding", "embed"))
        inputs.getValue("signal").writeFloat(recording.copyOf(TIME * CHANNELS))
        inputs.getValue("length").writeInt(intArrayOf(recording.size / CHANNELS))
        model.run(inputs, outputs, "embed")
        return outputs.getValue("embedding").readFloat()
    }

    /** Returns true if the recording is near to the nearest of at most ROWS enrolled embeddings. */
    fun accepts(recording: FloatArray, enrolled: List<FloatArray>): Boolean {
        val rows = enrolled + List(ROWS - enrolled.size) { enrolled[0] }
        val inputs =
            listOf("embedding", "gallery").associateWith { model.createInputBuffer(it, "distance") }
        val outputs = mapOf("distance" to model.createOutputBuffer("distance", "distance"))
        inputs.getValue("embedding").writeFloat(embed(recording))
        inputs.getValue("gallery").writeFloat(rows.flatMap { it.asList() }.toFloatArray())
        model.run(inputs, outputs, "distance")
        return outputs.getValue("distance").readFloat().min() <= THRESHOLD
    }

    override fun close() = model.close()

    companion object {
        const val TIME = @TIME@
        const val CHANNELS = @CHANNELS@
        const val ROWS = @ROWS@
        const val THRESHOLD = @THRESHOLD@f // for a false accept rate of @FAR@
    }
}
