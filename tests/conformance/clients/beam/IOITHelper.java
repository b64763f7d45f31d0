package org.apache.beam.sdk.io.common;

import org.apache.beam.sdk.options.PipelineOptions;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.testing.TestPipeline;

/* What Beam's test of change streams takes from a module of tests that no
 * package has: the options of the property beamTestPipelineOptions. */
public class IOITHelper {
    public static <T extends PipelineOptions> T readIOTestPipelineOptions(
        Class<T> options) {
        PipelineOptionsFactory.register(options);
        return TestPipeline.testingPipelineOptions().as(options);
    }
}
