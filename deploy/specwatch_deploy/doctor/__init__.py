"""The doctor: does the monitoring itself work?"""
